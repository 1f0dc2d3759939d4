//! `tailwater draw`: the files of a result again, such as pictures without titles, or by a newer tailwater.

use crate::args::DrawOptions;
use crate::failure::Failure;
use crate::run::folder::Folder;
use crate::run::output::{deliver, for_people, read};

pub(crate) fn draw(options: &DrawOptions) -> Result<(), Failure> {
    let result = read(&options.result)?;
    let folder = Folder::prepare_for_result(&options.out)?;
    deliver(&result, &for_people, false, Some((&folder, options.pictures.look())))
}
