//! Our own page of slow requests, in a browser: the keys, buttons and pointer that its time line has are used, and what it then shows is
//! read.

use crate::exports::Exports;
use crate::{Result, tools};
use machine::command;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// A browser that dumps a page draws no frames by the clock of its budget, and without these it tells no sizes.
const FRAMES: &str = "<script>
window.requestAnimationFrame = (draw) => setTimeout(draw, 16);
window.ResizeObserver = class {
  constructor(tell) { this.tell = tell; }
  observe() { setTimeout(this.tell, 0); }
};
</script>";

/// Uses the first time line, and leaves what that showed at the end of the page.
const USED: &str = r#"<script>
const figure = document.querySelector("figure.timeline");
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const key = (name) => figure.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
(async () => {
  const bars = Array.from(figure.querySelectorAll(".tw-bar[data-tip]"));
  const place = (bar) => ["x", "width", "display"].map((name) => bar.getAttribute(name)).join(" ");
  const read = async () => {
    await drawn();
    const ticks = Array.from(figure.querySelectorAll(".tw-muted")).map((text) => text.textContent + " " + text.getAttribute("x"));
    return { shown: figure.querySelector("output").textContent, bars: bars.map(place), ticks };
  };
  const used = { whole: await read() };
  key("+");
  used.larger = await read();
  key("ArrowRight");
  used.later = await read();
  key("0");
  used.restored = await read();
  figure.querySelector(".zooms button").click();
  used.pressed = await read();
  bars[0].dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 9, clientY: 9 }));
  const tip = document.querySelector(".tip");
  used.tip = tip.hidden ? "" : tip.textContent;
  used.names = Array.from(figure.querySelectorAll("text.tw-on")).filter((text) => text.textContent !== "").length;
  const told = document.createElement("pre");
  told.textContent = "used:" + JSON.stringify(used) + ":used";
  document.body.append(told);
})();
</script>"#;
/// As of speedscope's page.
const BUDGET: &str = "--virtual-time-budget=10000";

/// What the time line said it shows, and where its bars and the times below them were.
#[derive(Deserialize, PartialEq, Debug)]
struct View {
    shown: String,
    bars: Vec<String>,
    ticks: Vec<String>,
}

#[derive(Deserialize, Debug)]
struct Used {
    whole: View,
    larger: View,
    later: View,
    restored: View,
    pressed: View,
    tip: String,
    names: usize,
}

/// The browser's version.
pub(crate) fn tool() -> String {
    let said = command::output(Command::new(tools::CHROMIUM).arg("--version")).unwrap_or_default();
    said.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let page = exports.of("requests.html");
    let text = exports.page(&page)?;
    if !opened(&page)?.contains("class=\"zooms\"") {
        return Err("its own policy keeps its script from running".to_owned());
    }
    let told = used(&exports.of("requests-used.html"), &text, USED)?;
    judge(&serde_json::from_str(&told).map_err(|error| format!("{told}: {error}"))?)
}

/// What a script says that uses a page's text: JSON, which it leaves at the page's end between `used:` and `:used`. The page that
/// it uses is written to a file of its own.
pub(crate) fn used(copy: &Path, text: &str, script: &str) -> Result<String> {
    std::fs::write(copy, used_by_script(text, script)?)
        .map_err(|error| format!("{}: {error}", copy.display()))?;
    let dom = opened(copy)?;
    let told = dom.split_once("used:{").and_then(|(_, rest)| rest.split_once(":used"));
    let (told, _) = told.ok_or("its script did not answer")?;
    Ok(format!("{{{told}").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// The page as the browser has it in the end.
pub(crate) fn opened(page: &Path) -> Result<String> {
    dom(&format!("file://{}", page.display()))
}

/// What the browser has at an address in the end.
pub(crate) fn dom(address: &str) -> Result<String> {
    let mut open = Command::new("timeout");
    open.args(["--kill-after=5", "60", tools::CHROMIUM, "--headless", "--no-sandbox", BUDGET]);
    open.args(["--window-size=1400,900", "--dump-dom"]);
    command::output(open.arg(address))
}

/// The page with what uses it, and without its policy: that allows its own script alone.
fn used_by_script(page: &str, script: &str) -> Result<String> {
    let (before, policy) = page
        .split_once("<meta http-equiv=\"Content-Security-Policy\"")
        .ok_or("the page has no policy of what may run in it")?;
    let (_, rest) = policy.split_once("/>").ok_or("the page's policy has no end")?;
    let (body, end) = rest.rsplit_once("</body>").ok_or("the page has no end")?;
    Ok(format!("{before}{FRAMES}{body}{script}</body>{end}"))
}

fn judge(used: &Used) -> Result<String> {
    let Used { whole, larger, later, restored, pressed, tip, names } = used;
    let is =
        |found: bool, what: &str| if found { Ok(()) } else { Err(format!("{what}: {used:?}")) };
    is(!whole.bars.is_empty() && !whole.shown.is_empty(), "it draws nothing")?;
    let differ = |a: &View, b: &View| a.shown != b.shown && a.bars != b.bars;
    is(differ(larger, whole), "`+` does not make it larger")?;
    // A bar that spans all that is shown lies where it was, and the times do not.
    let is_moved = later.shown != larger.shown && later.ticks != larger.ticks;
    is(is_moved, "an arrow does not move it")?;
    is(restored == whole, "`0` does not show all again")?;
    is(pressed == larger, "the button does not what `+` does")?;
    is(!tip.is_empty(), "the pointer shows no values")?;
    is(*names > 0, "no bar has its name")?;
    Ok(format!("a time line that zooms, moves and tells values, with {names} names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(larger: &str, restored: &str, tip: &str) -> Used {
        let view = |shown: &str, bar: &str| View {
            shown: shown.into(),
            bars: vec![bar.into()],
            ticks: vec![shown.into()],
        };
        Used {
            whole: view("0 to 4 ms", "0 9"),
            larger: view("1 to 3 ms", larger),
            later: view("1.5 to 3.5 ms", "5 9"),
            restored: view("0 to 4 ms", restored),
            pressed: view("1 to 3 ms", larger),
            tip: tip.into(),
            names: 2,
        }
    }

    #[test]
    fn a_time_line_that_does_not_answer_is_named() {
        assert!(judge(&used("0 18", "0 9", "1 ms")).is_ok());
        assert!(judge(&used("0 9", "0 9", "1 ms")).unwrap_err().contains("larger"));
        assert!(judge(&used("0 18", "0 18", "1 ms")).unwrap_err().contains("all again"));
        let mut still = used("0 18", "0 9", "1 ms");
        still.later.ticks.clone_from(&still.larger.ticks);
        assert!(judge(&still).unwrap_err().contains("arrow"));
        assert!(judge(&used("0 18", "0 9", "")).unwrap_err().contains("pointer"));
    }
}
