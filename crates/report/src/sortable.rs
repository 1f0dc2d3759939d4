//! The tables of a page that their headings sort; the page's script makes buttons of these.

use crate::columns::{Cell, Tone};
use crate::svg::escape;

/// One table. Its kind is the class by which the style sheet knows it.
pub(crate) struct Sortable {
    pub(crate) kind: &'static str,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Row>,
}

/// A heading, one word or unit a line.
pub(crate) struct Head {
    pub(crate) text: String,
    /// What its column means, for the pointer; empty where the heading says it.
    pub(crate) meaning: &'static str,
    /// Phones leave its column out at first.
    pub(crate) more: bool,
}

pub(crate) struct Row {
    /// It begins a block of rows that belong together, as long as nothing is sorted.
    pub(crate) first: bool,
    pub(crate) values: Vec<Value>,
}

/// A cell of a row.
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) tone: Tone,
    /// What more can be said, for the pointer; empty where nothing can.
    pub(crate) tip: String,
}

impl Head {
    /// One that says all, of a column that always shows.
    pub(crate) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), meaning: "", more: false }
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain, tip: String::new() }
    }
}

impl From<Cell> for Value {
    fn from(Cell { text, tone, tip }: Cell) -> Self {
        Self { text, tone, tip }
    }
}

impl Row {
    /// A row that begins no block, of texts alone.
    pub(crate) fn plain(texts: Vec<String>) -> Self {
        Self { first: false, values: texts.into_iter().map(Value::from).collect() }
    }
}

/// Shows on phones what they leave out otherwise.
const ALL_COLUMNS: &str =
    "<label class=\"all-columns\"><input type=\"checkbox\"/> all columns</label>\n";

impl Sortable {
    /// Its markup, which scrolls sideways where it must.
    pub(crate) fn markup(&self) -> String {
        let choice = if self.heads.iter().any(|head| head.more) { ALL_COLUMNS } else { "" };
        let heads: String = self.heads.iter().map(Head::markup).collect();
        let rows: String = self.rows.iter().map(|row| self.row(row)).collect();
        format!(
            "{choice}<div class=\"scroll\"><table class=\"sortable {}\">\n<thead><tr>{heads}</tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table></div>\n",
            self.kind
        )
    }

    fn row(&self, row: &Row) -> String {
        let class = class(&[if row.first { "first" } else { "" }]);
        let pairs = self.heads.iter().zip(&row.values);
        let cells: String = pairs.map(|(head, value)| value.markup(head)).collect();
        format!("<tr{class}>{cells}</tr>\n")
    }
}

impl Head {
    fn markup(&self) -> String {
        let class = class(&[more(self)]);
        let text = escape(&self.text).replace('\n', "<br/>");
        format!("<th{class}{}>{text}</th>", title(self.meaning))
    }
}

impl Value {
    fn markup(&self, head: &Head) -> String {
        let tone = match self.tone {
            Tone::Plain => "",
            Tone::Good => "good",
            Tone::Fair => "fair",
            Tone::Poor => "poor",
        };
        let class = class(&[more(head), tone]);
        format!("<td{class}{}>{}</td>", title(&self.tip), escape(&self.text))
    }
}

/// The class of columns that a phone leaves out at first.
const fn more(head: &Head) -> &'static str {
    if head.more { "more" } else { "" }
}

fn class(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    if names.is_empty() { String::new() } else { format!(" class=\"{}\"", names.join(" ")) }
}

fn title(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_no_more_than_it_has() {
        let head = Head { text: "p99\nµs".into(), meaning: "a < b", more: true };
        let value = Value { text: "<1".into(), tone: Tone::Poor, tip: "2 to 3".into() };
        let rows = vec![
            Row { first: true, values: vec![String::from("a").into(), value] },
            Row::plain(vec!["b".into(), "2".into()]),
        ];
        let table = Sortable { kind: "some", heads: vec![Head::plain("name"), head], rows };
        assert_eq!(
            table.markup(),
            "<label class=\"all-columns\"><input type=\"checkbox\"/> all columns</label>\n\
             <div class=\"scroll\"><table class=\"sortable some\">\n\
             <thead><tr><th>name</th><th class=\"more\" title=\"a &lt; b\">p99<br/>µs</th></tr></thead>\n<tbody>\n\
             <tr class=\"first\"><td>a</td><td class=\"more poor\" title=\"2 to 3\">&lt;1</td></tr>\n\
             <tr><td>b</td><td class=\"more\">2</td></tr>\n\
             </tbody>\n</table></div>\n"
        );
    }
}
