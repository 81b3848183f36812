//! The one way to open a store: what is made, what must exist, and what is only looked at.
#![allow(
    clippy::unwrap_used,
    reason = "tests stop at the first thing that is not as it should be"
)]

use std::path::Path;

use mivabo_store::{Error, Location, Object, Store};

fn in_folder(folder: &Path, text: &str) -> Location {
    text.parse::<Location>().unwrap().within(folder)
}

#[test]
fn a_file_is_made_once_and_then_opened() {
    let folder = tempfile::tempdir().unwrap();
    let place = in_folder(folder.path(), "sqlite:///a.db");
    assert_eq!(
        Store::open_existing(&place).err(),
        Some(Error::NotThere {
            place: place.clone()
        })
    );
    assert!(!place.exists());

    let made = Store::open(&place).unwrap().create("cnn", "x").unwrap();

    assert!(place.exists());
    assert_eq!(
        Store::open(&place).unwrap().create("cnn", "x").unwrap(),
        made
    );
    let mut again = Store::open_existing(&place).unwrap();
    again.enqueue(made, Object::default().into(), 0).unwrap();
}

#[test]
fn who_looks_sees_everything_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = in_folder(folder.path(), "a.db");
    assert!(matches!(Store::look(&place), Err(Error::NotThere { .. })));
    let mut store = Store::open(&place).unwrap();
    let study = store.create("cnn", "x").unwrap();

    let mut look = Store::look(&place).unwrap();

    assert_eq!(look.studies().unwrap(), store.studies().unwrap());
    assert_eq!(
        look.enqueue(study, Object::default().into(), 0)
            .unwrap_err(),
        Error::ReadOnly { place }
    );
}

#[test]
fn memory_is_new_each_time_and_nothing_of_it_can_be_opened_again() {
    let mut store = Store::open(&Location::Memory).unwrap();
    store.create("cnn", "x").unwrap();

    assert_eq!(
        Store::open(&Location::Memory).unwrap().studies().unwrap(),
        []
    );
    for refused in [
        Store::open_existing(&Location::Memory),
        Store::look(&Location::Memory),
    ] {
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("ends with the process"), "{message}");
    }
}

#[test]
fn errors_name_the_place() {
    let place = Location::File("/no/such/folder/a.db".into());

    let message = Store::open(&place).err().unwrap().to_string();

    assert!(message.contains("`/no/such/folder/a.db`"), "{message}");
}
