//! `tailwater draw`: the files of a result again, such as pictures without titles, or by a newer tailwater.

use crate::args::DrawOptions;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::run::output::{deliver, for_people, read_with_text};

pub(crate) fn draw(options: &DrawOptions) -> Result<(), Failure> {
    let (result, text) = read_with_text(&options.result)?;
    let folder = Folder::prepare_for_result(&options.out)?;
    folder.refuse_less(&result)?;
    deliver((&result, &text), &for_people, false, Some((&folder, options.pictures.look())))
}
