//! `tailwater draw`: the files of a result again, such as pictures without titles, or by a newer tailwater.

use crate::args::DrawOptions;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::run::output::{deliver, for_people, read_with_text};

pub(crate) fn draw(options: &DrawOptions) -> Result<(), Failure> {
    let (result, text) = read_with_text(&options.result)?;
    let folder = Folder::prepare_for_result(&options.out)?;
    if result.cut_short.is_some() && folder.holds_whole_result() {
        return Err(Failure::usage(format!(
            "{} holds a whole result, and this one was cut short; give another folder by --out",
            options.out.display()
        )));
    }
    deliver((&result, &text), &for_people, false, Some((&folder, options.pictures.look())))
}
