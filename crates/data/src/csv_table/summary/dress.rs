//! Whether the numbers of a column are dressed alike, and what the column is without their dress.

use std::borrow::Cow;

use preprocess::{
    cell::Cell,
    dress::{Number, is_dressed},
};

use super::{Place, Summary};
use crate::Dress;

/// What was seen of the dress of a column's numbers.
#[derive(Debug, Default, Clone)]
pub(super) struct DressSeen {
    worn: Option<Worn>,
    /// The first number without a sign, unless it is 0.
    bare: Option<Place>,
    /// Texts that are numbers in any dress, and the first that does not go with those above.
    dressed: u64,
    odd: Option<Place>,
    /// The column with plain numbers in place of those in dress, from the first of these until `odd`.
    plain: Option<Box<Summary>>,
}

/// What the numbers of a column wear.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::csv_table) struct Worn {
    pub(in crate::csv_table) dress: Dress,
    /// The first of them.
    pub(in crate::csv_table) first: Place,
    /// As it is read.
    pub(in crate::csv_table) plain: String,
}

impl DressSeen {
    /// Whether cells that are no text count, which in columns without dress they soon do not.
    pub(super) fn takes_plain(&self) -> bool {
        self.plain.is_some() || self.bare.is_none()
    }

    /// Takes a number in dress, and says whether it goes with those above.
    fn wear(&mut self, number: &Number, place: impl Fn() -> Place) -> bool {
        let new = || Worn { dress: Dress::default(), first: place(), plain: number.plain() };
        let sign = &mut self.worn.get_or_insert_with(new).dress.sign;
        *sign = sign.or(number.sign);
        number.sign.is_none() || number.sign == *sign
    }
}

impl Summary {
    /// Takes the next cell for the column without dress, before it is counted as it is written.
    pub(super) fn see_dress(&mut self, cell: Cell, line: u64, text: &str) {
        let place = || Place::new(line, text);
        let number = if cell == Cell::Text { self.notation.number(text) } else { None };
        let seen = &mut self.dress_seen;
        if number.as_ref().is_some_and(|number| number.sign.is_none())
            || matches!(cell, Cell::Number(number) if number != 0.0)
        {
            seen.bare.get_or_insert_with(place);
        }
        let goes = match &number {
            Some(number) => seen.wear(number, place),
            None => cell != Cell::Text || !is_dressed(text),
        };
        seen.dressed += u64::from(number.is_some() || !goes);
        if !goes {
            seen.odd.get_or_insert_with(place);
            seen.plain = None;
        } else if number.is_some() && seen.plain.is_none() && seen.odd.is_none() {
            let plain = Self { dress_seen: DressSeen::default(), ..self.clone() };
            self.dress_seen.plain = Some(Box::new(plain));
        }
        if let Some(plain) = &mut self.dress_seen.plain {
            plain.add(line, &number.map_or(Cow::Borrowed(text), |number| number.plain().into()));
        }
    }

    /// What its numbers wear, if they wear it alike. Where some have a percent sign and others none,
    /// these may well be shares of 1; but without a currency sign they are of the same currency.
    pub(in crate::csv_table) fn worn(&self) -> Option<&Worn> {
        let DressSeen { worn, bare, odd, .. } = &self.dress_seen;
        let are_alike =
            |worn: &&Worn| odd.is_none() && (worn.dress.sign != Some('%') || bare.is_none());
        worn.as_ref().filter(are_alike)
    }

    /// The first number in dress that does not go with those above.
    pub(in crate::csv_table) fn odd(&self) -> Option<&Place> {
        self.dress_seen.odd.as_ref()
    }

    /// The column without dress, if it is one of numbers then, else as it is written.
    pub(in crate::csv_table) fn as_read(&self) -> &Self {
        let plain = self.dress_seen.plain.as_deref().filter(|plain| plain.is_numeric());
        plain.filter(|_| self.worn().is_some()).unwrap_or(self)
    }

    /// A number in dress that is not read, if at least 90 % of the cells are such numbers or plain ones.
    pub(in crate::csv_table) fn unread_number(&self) -> Option<&Place> {
        let DressSeen { worn, dressed, odd, .. } = &self.dress_seen;
        let nearly_all = 10 * (dressed + self.numbers) >= 9 * self.present();
        let place = odd.as_ref().or(worn.as_ref().map(|worn| &worn.first));
        place.filter(|_| nearly_all && !self.is_numeric())
    }

    /// How its [unread](Self::unread_number) numbers are written: the first one, and the first cell that
    /// does not go with it.
    pub(super) fn shown_dress(&self) -> Option<String> {
        let unread = self.unread_number()?;
        let DressSeen { worn: Some(worn), bare, odd, plain, .. } = &self.dress_seen else {
            return Some(unread.shown());
        };
        let other = match self.worn() {
            _ if odd.is_some() => odd.as_ref(),
            None => bare.as_ref(),
            Some(_) => plain.as_ref().and_then(|plain| plain.first_text.as_ref()),
        };
        let other = other.map(|other| format!(" and {}", other.shown())).unwrap_or_default();
        Some(worn.first.shown() + &other)
    }
}
