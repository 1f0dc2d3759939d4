//! The process that is scanned, as the recorder asks for what it is called.

use crate::system::other::Other;
use crate::system::shim;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tailwater_profile::record::Module;

/// Whose threads are recorded.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// Those of the process that the recorder is in.
    Own,
    Other(Arc<Other>),
}

impl Subject {
    /// Its memory, to be read as a file: what is not mapped is an error then, and no fault.
    pub(crate) fn memory(&self) -> io::Result<File> {
        match self {
            Self::Own => File::open("/proc/self/mem"),
            Self::Other(other) => other.memory(),
        }
    }

    /// The program, which comes first, and its libraries, as they are mapped now.
    pub(crate) fn modules(&self) -> Vec<Module> {
        match self {
            Self::Own => {
                let mut modules = shim::modules();
                // The C library has no name for the program itself.
                if let Some(first) = modules.first_mut().filter(|first| first.path.is_empty()) {
                    first.path = self.program();
                }
                modules
            }
            Self::Other(other) => other.modules(),
        }
    }

    /// The program's path; empty when it cannot be known.
    pub(crate) fn program(&self) -> String {
        let path = match self {
            Self::Own => std::env::current_exe(),
            Self::Other(other) => other.program(),
        };
        path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The program's build id.
    pub(crate) fn build_id(&self) -> Vec<u8> {
        self.modules().into_iter().next().map(|module| module.build_id).unwrap_or_default()
    }

    /// What the process is called; empty when it is gone.
    pub(crate) fn name_of_process(&self) -> String {
        let folder = match self {
            Self::Own => Path::new("/proc/self"),
            Self::Other(other) => other.folder(),
        };
        let name = std::fs::read_to_string(folder.join("comm"));
        name.map(|name| name.trim_end().to_owned()).unwrap_or_default()
    }

    /// What the thread is called that numbers itself so; empty when it is gone.
    pub(crate) fn name_of(&self, tid: u32) -> String {
        let name = match self {
            Self::Own => std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")),
            Self::Other(other) => other.name_of(tid),
        };
        name.map(|name| name.trim_end().to_owned()).unwrap_or_default()
    }
}
