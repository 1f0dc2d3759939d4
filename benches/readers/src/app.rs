//! speedscope's page, in a browser: it reads the formats of others, too.

use crate::exports::Exports;
use crate::stacks::folded;
use crate::{Result, tools};
use machine::command;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use tiny_http::{Response, Server};

/// Those that it reads of ours, with stacks. What it reads of Firefox' is of 2018, and another format than ours.
pub(crate) const FORMATS: [&str; 3] = ["folded", "speedscope", "pprof"];
/// The page draws for so long by the browser's own clock, which does not stand still for a busy machine.
const BUDGET: &str = "--virtual-time-budget=10000";
/// It shows two decimals.
const TOLERANCE: f64 = 0.01;
/// Those with most time in themselves come first, and so many are in sight.
const IN_SIGHT: usize = 10;

pub(crate) fn tool() -> String {
    format!("speedscope {}", tools::SPEEDSCOPE)
}

/// Opens the page at its table of functions, and reads the rows.
pub(crate) fn read(exports: &Exports, format: &str) -> Result<String> {
    let served = Served::start(tools::speedscope(&exports.folder)?, exports.of(format))?;
    let page = &served.page;
    let mut open = Command::new("timeout");
    open.args(["--kill-after=5", "60", tools::CHROMIUM, "--headless", "--no-sandbox", BUDGET]);
    // Its flame graph is drawn by the processor.
    open.args(["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]);
    open.args(["--window-size=1400,900", "--dump-dom"]);
    open.arg(format!("{page}/index.html#profileURL={page}/profile&view=sandwich"));
    let shown = rows(&command::output(&mut open)?)?;
    let expected = exports.stacks.itself();
    for (name, ns) in &shown {
        let known = expected.get(&*folded(name)).copied().unwrap_or_default() as f64;
        if (ns - known).abs() > known * TOLERANCE {
            return Err(format!("it shows {ns} ns of {name}, for {known}"));
        }
    }
    let mut longest: Vec<_> = expected.iter().filter(|(_, ns)| **ns > 0).collect();
    longest.sort_by_key(|(_, ns)| Reverse(**ns));
    let is_shown = |name: &str| shown.iter().any(|(one, _)| folded(one) == name);
    match longest.iter().take(IN_SIGHT).find(|(name, _)| !is_shown(name)) {
        Some((name, _)) => Err(format!("it does not show {name}")),
        None => Ok(format!("the time of {} functions", shown.len())),
    }
}

/// Its page and an export, on a port of this machine until it is dropped.
struct Served {
    page: String,
    server: Arc<Server>,
}

impl Served {
    fn start(release: PathBuf, export: PathBuf) -> Result<Self> {
        let server = Server::http("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = server.server_addr().to_ip().ok_or("it has no address")?;
        let server = Arc::new(server);
        let served = Arc::clone(&server);
        thread::spawn(move || {
            for request in served.incoming_requests() {
                let name = request.url().trim_start_matches('/').to_owned();
                // Of the page's own folder alone, which has no folders.
                let path = match name.as_str() {
                    "profile" => export.clone(),
                    name => release.join(Path::new(name).file_name().unwrap_or_default()),
                };
                // Where the browser is gone, so is its question.
                let _ = match std::fs::read(path) {
                    Ok(bytes) => {
                        request.respond(Response::from_data(bytes).with_header(kind(&name)))
                    }
                    Err(_) => request.respond(Response::empty(404)),
                };
            }
        });
        Ok(Self { page: format!("http://{address}"), server })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

/// Browsers run no script of another kind.
fn kind(name: &str) -> tiny_http::Header {
    let kind = match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html",
        "js" => "text/javascript",
        "css" => "text/css",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    };
    tiny_http::Header::from_bytes("Content-Type", kind).expect("it is ASCII")
}

/// The rows of its table: names, and nanoseconds in themselves.
fn rows(dom: &str) -> Result<Vec<(String, f64)>> {
    let text = visible(dom);
    let mut cells = text.iter().skip_while(|cell| *cell != "Symbol Name").skip(1);
    let mut rows = Vec::new();
    while let (Some(_), Some(itself), Some(name)) = (cells.next(), cells.next(), cells.next()) {
        rows.push((name.clone(), ns(itself).ok_or_else(|| format!("no time: {itself}"))?));
    }
    if rows.is_empty() { Err(format!("its table is empty: {text:?}")) } else { Ok(rows) }
}

/// What stands between the tags of the body.
fn visible(dom: &str) -> Vec<String> {
    let body = dom.split_once("<body").map_or("", |(_, body)| body);
    let text = body.split('<').filter_map(|part| part.split_once('>'));
    let cells = text.map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
    let plain = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    cells.map(plain).collect()
}

/// Such as `5.90s (79%)`; without a unit it is a number of samples, each a nanosecond here.
fn ns(cell: &str) -> Option<f64> {
    let number = cell.split_once(" (").map_or(cell, |(number, _)| number).replace(',', "");
    let digits = number.trim_end_matches(|c: char| c.is_alphabetic() || c == 'µ');
    let unit = match &number[digits.len()..] {
        "" | "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_three_cells_behind_the_heads() {
        let dom = "<head><title>x</title></head><body><p>Total</p><p>Self</p><p>Symbol Name</p>\
                   <p>7.40s (&gt;99%)</p><p>5.90s (79%)</p><p>a&lt;int&gt;</p>\
                   <p>1,500 (20%)</p><p>39.93ms (0.53%)</p><p>b</p></body>";
        let expected = [("a<int>".to_owned(), 5.9e9), ("b".to_owned(), 39.93e6)];
        assert_eq!(rows(dom).unwrap(), expected);
        assert_eq!(ns("1,500,807 (20%)"), Some(1_500_807.0));
        assert_eq!((ns("2.50µs (1%)"), ns("3 fortnights")), (Some(2_500.0), None));
        assert!(rows("<body><p>Symbol Name</p></body>").is_err());
    }
}
