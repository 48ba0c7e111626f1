//! Contrast of each text of a mail with its ground, light and dark.

use crate::mail::render::heading_ground;
use switchyard_core::colour::{Colour, LEAST_CONTRAST};

/// The frame of all mails, and the contents of both kinds.
const PAGE: &str = concat!(
    include_str!("../../../templates/mail/frame.html"),
    include_str!("../../../templates/mail/page.html"),
    include_str!("../../../templates/mail/user.html")
);

/// Classes of texts, and the class of the ground that each stands on.
const TEXTS: [(&str, &str); 5] = [
    ("ink", "card"),
    ("soft", "card"),
    ("soft", "ground"),
    ("warn", "warn"),
    ("act", "act"),
];

/// The colour that `declarations` give `property`.
fn declared(declarations: &str, property: &str) -> Option<Colour> {
    let mut declarations = declarations.split(';');
    declarations.find_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let colour = value.split_whitespace().next()?;
        (name.trim() == property).then(|| Colour::parse(colour))?
    })
}

/// Colours of the elements of a class, by their `style`.
fn light(class: &str, property: &str) -> Vec<Colour> {
    let elements = PAGE.split('<');
    let attribute = |element: &str, name: &str| {
        let (_, rest) = element.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let colours = elements.filter_map(|element| {
        let classes = attribute(element, "class")?;
        let is_one = classes.split(' ').any(|one| one == class);
        let style = attribute(element, "style").filter(|_| is_one)?;
        declared(&style, property)
    });
    colours.collect()
}

/// Colours of a class in the dark rules.
fn dark(class: &str, property: &str) -> Vec<Colour> {
    let rules = PAGE.lines().filter_map(|line| {
        let (selector, rest) = line.split_once(" { ")?;
        let declarations = rest.strip_suffix(" }")?;
        (selector == format!(".{class}")).then(|| declared(declarations, property))?
    });
    rules.collect()
}

#[test]
fn every_text_of_a_mail_is_readable_light_and_dark() {
    for (text, ground) in TEXTS {
        for (scheme, colours) in [("light", light as fn(&str, &str) -> _), ("dark", dark)] {
            let (texts, grounds): (Vec<Colour>, Vec<Colour>) =
                (colours(text, "color"), colours(ground, "background"));
            assert!(!texts.is_empty() && !grounds.is_empty(), "{scheme} {text}");
            for (of, on) in texts
                .iter()
                .flat_map(|of| grounds.iter().map(move |on| (of, on)))
            {
                let contrast = of.contrast(*on);
                assert!(
                    contrast >= LEAST_CONTRAST,
                    "{scheme}: {text} on {ground} {contrast:.2}"
                );
            }
        }
    }
}

#[test]
fn a_heading_is_readable_on_the_colour_of_each_outcome() {
    let light = ["good", "bad", "ask", "over"].map(|kind| Colour::parse(heading_ground(kind)));
    let grounds = light
        .into_iter()
        .flatten()
        .chain(dark("good", "background"));
    let grounds: Vec<_> = grounds.collect();
    assert_eq!(grounds.len(), 5);
    for ground in grounds {
        assert!(Colour::WHITE.contrast(ground) >= LEAST_CONTRAST, "{ground}");
    }
}
