//! What a page is asked.

/// A question, and of which service.
#[derive(Default)]
pub(super) struct Question {
    pub(super) of: String,
    pub(super) text: String,
}

impl Question {
    /// As a form sends it; what else it has is left out.
    pub(super) fn of_query(query: &str) -> Self {
        let mut found = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "of" => found.of = value.into_owned(),
                "q" => found.text = value.into_owned(),
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_as_forms_send_them() {
        let found = Question::of_query("of=setalgebra&q=sailing+%26+caf%C3%A9&x=1");
        assert_eq!((&*found.of, &*found.text), ("setalgebra", "sailing & café"));
        assert_eq!(Question::of_query("q=%FF&&=").of, "");
    }
}
