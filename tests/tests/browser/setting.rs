//! How a browser is set up.

use serde_json::{Value, json};

/// One way of looking at the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    wide: bool,
    dark: bool,
    scripts: bool,
    keyboard: bool,
    spanish: bool,
}

/// Each pair of choices is in one of them at least.
pub(crate) const SETTINGS: [Setting; 6] = [
    Setting::new(false, false, true, false, false),
    Setting::new(true, true, false, false, true),
    Setting::new(true, false, false, true, false),
    Setting::new(true, false, true, false, true),
    Setting::new(false, true, false, true, false),
    Setting::new(false, true, true, true, true),
];

impl Setting {
    const fn new(wide: bool, dark: bool, scripts: bool, keyboard: bool, spanish: bool) -> Self {
        Self {
            wide,
            dark,
            scripts,
            keyboard,
            spanish,
        }
    }

    const fn choices(self) -> [bool; 5] {
        [
            self.wide,
            self.dark,
            self.scripts,
            self.keyboard,
            self.spanish,
        ]
    }

    pub(crate) fn told(self) -> Value {
        json!({
            "width": if self.wide { 1280 } else { 360 },
            "dark": self.dark,
            "scripts": self.scripts,
            "keyboard": self.keyboard,
            "language": if self.spanish { "es" } else { "en" },
        })
    }
}

#[test]
fn every_pair_of_choices_is_walked() {
    let told = SETTINGS.map(Setting::choices);
    for one in 0..5 {
        for other in 0..one {
            for wanted in [(false, false), (false, true), (true, false), (true, true)] {
                assert!(
                    told.iter().any(|row| (row[one], row[other]) == wanted),
                    "{one} and {other} are never {wanted:?}"
                );
            }
        }
    }
}
