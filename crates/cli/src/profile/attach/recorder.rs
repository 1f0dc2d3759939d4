//! The process beside the program that scans it, `tailwater-recorder`: how it is started, asked to end, and what it says.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tailwater_program::{status, unignored};

/// What asks for the end, even of a process that a script has put in the background, where SIGINT is ignored.
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// What it came to.
pub(super) struct Outcome {
    /// The program's name, and when recording began; `None`: it never did.
    pub(super) begun: Option<(String, Instant)>,
    /// Its word for how it ended; `None`: it was killed.
    pub(super) over: Option<String>,
    /// A signal asked for the end.
    pub(super) is_signalled: bool,
    pub(super) status: ExitStatus,
    /// What it said on standard error.
    pub(super) complaint: String,
}

/// Something that happens while it records.
enum Event {
    /// It said a line.
    Said(String),
    /// It will say no more.
    Silent,
    /// This process is asked to end.
    Signal,
    /// What was waited for has come.
    Rung,
}

/// Where it is heard of, signals to this process included, for as long as this lives.
pub(super) struct Post {
    tell: Sender<Event>,
    told: Receiver<Event>,
    signals: Handle,
}

impl Post {
    pub(super) fn open() -> Result<Self, Failure> {
        // `nohup` has it ignored, and so it stays.
        let hangup = unignored(&status(), &[SIGHUP]);
        let mut signals = Signals::new(hangup.into_iter().chain(ENDING)).map_err(Failure::work)?;
        let handle = signals.handle();
        let (tell, told) = channel();
        let tell_too = tell.clone();
        // It ends when the handle is closed.
        std::thread::spawn(move || {
            signals.forever().for_each(|_| drop(tell_too.send(Event::Signal)));
        });
        Ok(Self { tell, told, signals: handle })
    }

    pub(super) fn bell(&self) -> Bell {
        Bell(self.tell.clone())
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.signals.close();
    }
}

/// For what waits for something in the recording that ends it.
#[derive(Clone)]
pub(super) struct Bell(Sender<Event>);

impl Bell {
    pub(super) fn ring(&self) {
        // Once all is over, it is heard no more.
        let _ = self.0.send(Event::Rung);
    }
}

/// Runs it until it ends: by itself, after `length`, when a signal asks this process to, or when a [`Bell`] rings.
/// `begun` is told the program's name.
pub(super) fn run(
    command: &mut Command,
    length: Option<Duration>,
    post: &Post,
    begun: impl FnOnce(&str),
) -> Result<Outcome, Failure> {
    // What is typed at a terminal reaches this process alone, which asks it to end.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.get_program().to_owned();
    let trouble = |error| Failure::work(format!("{}: {error}", program.display()));
    let mut child = command.spawn().map_err(trouble)?;
    let (asked, said, complained) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = post.tell.clone();
    let listening = std::thread::spawn(move || listen(said, &tell));
    let mut watch = Watch { child, asked, begun: None, over: None, is_signalled: false };
    watch.watch(&post.told, length, begun);
    let complaint = complained.map(read).unwrap_or_default();
    let status = watch.child.wait().map_err(trouble)?;
    let _ = listening.join();
    let Watch { begun, over, is_signalled, .. } = watch;
    Ok(Outcome { begun, over, is_signalled, status, complaint })
}

fn listen(said: Option<ChildStdout>, tell: &Sender<Event>) {
    let lines = said.into_iter().flat_map(|said| BufReader::new(said).lines());
    lines.map_while(Result::ok).for_each(|line| drop(tell.send(Event::Said(line))));
    let _ = tell.send(Event::Silent);
}

fn read(mut from: ChildStderr) -> String {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

struct Watch {
    child: Child,
    /// Closing it asks for the end.
    asked: Option<ChildStdin>,
    begun: Option<(String, Instant)>,
    over: Option<String>,
    is_signalled: bool,
}

impl Watch {
    fn watch(
        &mut self,
        told: &Receiver<Event>,
        length: Option<Duration>,
        begun: impl FnOnce(&str),
    ) {
        let mut begun = Some(begun);
        loop {
            match self.next(told, length) {
                Ok(Event::Said(line)) => match line.split_once(' ') {
                    Some(("recording", name)) => {
                        self.begun = Some((name.to_owned(), Instant::now()));
                        begun.take().into_iter().for_each(|begun| begun(name));
                    }
                    Some(("over", word)) => self.over = Some(word.to_owned()),
                    _ => {}
                },
                Ok(Event::Signal) if self.is_signalled => {
                    // Asked twice: it may wait for a disk that does not answer. What it has written is there.
                    let _ = self.child.kill();
                }
                Ok(Event::Signal) => {
                    self.is_signalled = true;
                    self.asked = None;
                }
                Ok(Event::Rung) | Err(RecvTimeoutError::Timeout) => self.asked = None,
                Ok(Event::Silent) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Waits until the time is over, unless it was asked to end already.
    fn next(
        &self,
        told: &Receiver<Event>,
        length: Option<Duration>,
    ) -> Result<Event, RecvTimeoutError> {
        let began = self.begun.as_ref().filter(|_| self.asked.is_some());
        match began.zip(length) {
            Some(((_, began), length)) => told.recv_timeout(length.saturating_sub(began.elapsed())),
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn it_is_asked_to_end_when_the_time_is_over() {
        let mut script = shell("echo recording x y; cat; echo over asked");
        let mut named = String::new();
        let soon = Some(Duration::from_millis(1));
        let post = Post::open().expect("signals");
        let outcome = run(&mut script, soon, &post, |name| named = name.into());
        let outcome = outcome.expect("a shell");
        assert_eq!((named.as_str(), outcome.over.as_deref()), ("x y", Some("asked")));
        assert!(outcome.status.success() && outcome.begun.is_some());
    }

    #[test]
    fn or_when_the_bell_rings() {
        let post = Post::open().expect("signals");
        let bell = post.bell();
        let mut script = shell("echo recording x; cat; echo over asked");
        let outcome = run(&mut script, None, &post, |_| bell.ring()).expect("a shell");
        assert_eq!(outcome.over.as_deref(), Some("asked"));
        bell.ring();
    }

    #[test]
    fn what_it_refuses_or_dies_of_is_told() {
        let post = Post::open().expect("signals");
        let refused = run(&mut shell("echo why >&2; exit 2"), None, &post, |_| {});
        let refused = refused.expect("a shell");
        assert!(refused.begun.is_none() && refused.over.is_none());
        assert_eq!((refused.status.code(), refused.complaint.as_str()), (Some(2), "why"));
        let killed = run(&mut shell("echo recording x; kill -9 $$"), None, &post, |_| {});
        let killed = killed.expect("a shell");
        assert!(killed.begun.is_some() && killed.over.is_none() && killed.status.code().is_none());
    }
}
