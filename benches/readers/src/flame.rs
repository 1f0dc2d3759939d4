//! Our own page of flame graphs, in a browser: a bar is clicked, arrows and Escape are pressed, a name is searched, and what the page
//! then shows is read.

use crate::exports::Exports;
use crate::{Result, page};
use serde::Deserialize;

/// Uses the first graph, and leaves what that showed at the end of the page.
const USED: &str = r##"<script>
const section = document.querySelector("section.flames");
const bars = Array.from(section.querySelectorAll("#tail .frames button"));
const shown = () => bars.filter((bar) => !bar.hidden).map((bar) => [bar.textContent, bar.style.left, bar.style.width].join(" "));
const key = (bar, name) => bar.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const used = { whole: shown() };
key(bars[0], "ArrowDown");
used.below = document.activeElement.textContent;
const last = bars[bars.length - 1];
last.click();
used.larger = shown();
key(last, "Escape");
used.restored = shown();
const find = section.querySelector("input");
find.value = last.textContent;
find.dispatchEvent(new Event("input"));
used.found = bars.filter((bar) => bar.classList.contains("found")).length;
used.told = section.querySelector("output").textContent;
const told = document.createElement("pre");
told.textContent = "used:" + JSON.stringify(used) + ":used";
document.body.append(told);
</script>"##;

/// The bars of the graph, with where they were, and what was said.
#[derive(Deserialize, Debug)]
struct Used {
    whole: Vec<String>,
    /// The bar that an arrow led to.
    below: String,
    larger: Vec<String>,
    restored: Vec<String>,
    /// How many bars have the name that was searched.
    found: usize,
    told: String,
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let file = exports.of("flame.html");
    let text = exports.flame(&file)?;
    if !page::opened(&file)?.contains("class=\"zooms\"") {
        return Err("its own policy keeps its script from running".to_owned());
    }
    let told = page::used(&exports.of("flame-used.html"), &text, USED)?;
    judge(&serde_json::from_str(&told).map_err(|error| format!("{told}: {error}"))?)
}

fn judge(used: &Used) -> Result<String> {
    let Used { whole, below, larger, restored, found, told } = used;
    let is =
        |found: bool, what: &str| if found { Ok(()) } else { Err(format!("{what}: {used:?}")) };
    is(whole.len() > 1, "it draws no frame")?;
    is(whole[1].starts_with(below.as_str()) && !below.is_empty(), "an arrow leads to no callee")?;
    let is_wide = larger.last().is_some_and(|bar| bar.ends_with(" 0% 100%"));
    is(is_wide && larger != whole, "a click does not make a bar larger")?;
    // The script writes a width as it reads it, without zeros at its end.
    is(restored.len() == whole.len(), "Escape does not show all again")?;
    is(*found > 0 && told.contains(" % of: "), "a name is not found")?;
    Ok(format!("two flame graphs that zoom and find names, with {} bars in slow ones", whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used() -> Used {
        let bars = |all: &[&str]| all.iter().map(|&bar| bar.to_owned()).collect::<Vec<String>>();
        Used {
            whole: bars(&["slow 0% 100%", "main 0% 90%", "lock 0% 20%"]),
            below: "main".into(),
            larger: bars(&["slow 0% 100%", "main 0% 100%", "lock 0% 100%"]),
            restored: bars(&["slow 0% 100%", "main 0% 90%", "lock 0% 20%"]),
            found: 1,
            told: "20.0 % of: slow".into(),
        }
    }

    #[test]
    fn a_flame_graph_that_does_not_answer_is_named() {
        assert!(judge(&used()).is_ok());
        let whole = used().whole;
        let still = Used { larger: whole.clone(), ..used() };
        assert!(judge(&still).unwrap_err().contains("larger"));
        let larger = Used { restored: whole[..1].to_vec(), ..used() };
        assert!(judge(&larger).unwrap_err().contains("Escape"));
        assert!(judge(&Used { found: 0, ..used() }).unwrap_err().contains("not found"));
        assert!(judge(&Used { below: String::new(), ..used() }).unwrap_err().contains("arrow"));
    }
}
