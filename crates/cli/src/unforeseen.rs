//! Names for temporary files that others could not foretell, and so not take.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// Names tried.
const TRIES: u32 = 8;

/// What `make` makes at such a name in the folder for temporary files. `make` must fail where something is there already.
pub(crate) fn at<T>(
    prefix: &str,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut taken = io::ErrorKind::AlreadyExists.into();
    for _ in 0..TRIES {
        let chance = RandomState::new().build_hasher().finish();
        let path = std::env::temp_dir().join(format!("{prefix}-{chance:016x}"));
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_name_that_is_taken_is_not_the_last() {
        let tries = Cell::new(0);
        let third = |_: &Path| {
            tries.set(tries.get() + 1);
            if tries.get() < 3 { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(()) }
        };
        let (first, ()) = at("tailwater-test", third).expect("the third is free");
        assert_eq!(tries.get(), 3);
        let (second, ()) = at("tailwater-test", |_| Ok(())).expect("free");
        assert_ne!(first, second);
    }

    #[test]
    fn what_cannot_be_made_or_is_always_taken_is_an_error() {
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::AlreadyExists] {
            let found = at("tailwater-test", |_| Err::<(), _>(kind.into()));
            assert_eq!(found.expect_err("nothing was made").kind(), kind);
        }
    }
}
