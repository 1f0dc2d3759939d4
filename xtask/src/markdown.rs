//! The two things the chores need from a Markdown file: fenced blocks and words in backticks.

/// A fenced block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// Number of its first line of content, from 1.
    pub(crate) line: usize,
    /// The words after the opening fence.
    pub(crate) info: Vec<String>,
    /// Its lines, without the fence's indentation.
    pub(crate) body: String,
}

/// Every fenced block, in order. A block that is never closed ends with the file.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (index, line) in text.lines().enumerate() {
        match &mut open {
            None => {
                if let Some(info) = fence(line) {
                    let info = info.split_whitespace().map(str::to_owned).collect();
                    let indent = line.len() - line.trim_start().len();
                    open = Some((indent, Block { line: index + 2, info, body: String::new() }));
                }
            }
            Some(_) if fence(line) == Some("") => {
                blocks.extend(open.take().map(|(_, block)| block));
            }
            Some((indent, block)) => {
                let leading = line.len() - line.trim_start().len();
                block.body.push_str(&line[leading.min(*indent)..]);
                block.body.push('\n');
            }
        }
    }
    blocks.extend(open.map(|(_, block)| block));
    blocks
}

/// Every `word` in backticks outside of fenced blocks, with its line.
pub(crate) fn spans(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut spans = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if fence(line).is_some() {
            inside = !inside;
        } else if !inside {
            spans.extend(line.split('`').skip(1).step_by(2).map(|span| (index + 1, span)));
        }
    }
    spans
}

/// What follows the three backticks that open or close a block.
fn fence(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("```").map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Use `a/b` or `c`:\n\n```sh long\nmake `x`\n```\n\n- item\n  ```\n  two\n    deep\n  ```\n`d`\n";

    #[test]
    fn blocks_know_their_lines_and_words() {
        let blocks = blocks(TEXT);
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].line, blocks[0].body.as_str()), (4, "make `x`\n"));
        assert_eq!(blocks[0].info, ["sh", "long"]);
        assert_eq!(blocks[1].body, "two\n  deep\n");
    }

    #[test]
    fn spans_leave_blocks_out() {
        assert_eq!(spans(TEXT), [(1, "a/b"), (1, "c"), (12, "d")]);
    }
}
