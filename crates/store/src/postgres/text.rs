//! Text as PostgreSQL can keep it. It keeps none with a NUL character, and models and people write some.

use std::borrow::Cow;
use std::error::Error;

use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

/// The last character there is, which nobody uses, stands before what is written otherwise.
const ESCAPE: char = char::MAX;

/// Text to be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) &'a str);

/// Text that was stored.
#[derive(Debug)]
pub(super) struct Stored(pub(super) String);

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\0' => kept.extend([ESCAPE, '0']),
            ESCAPE => kept.extend([ESCAPE, '1']),
            c => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

fn unescaped(kept: &str) -> String {
    if !kept.contains(ESCAPE) {
        return kept.to_owned();
    }
    let mut text = String::with_capacity(kept.len());
    let mut characters = kept.chars();
    while let Some(c) = characters.next() {
        match c {
            ESCAPE if characters.next() == Some('0') => text.push('\0'),
            c => text.push(c),
        }
    }
    text
}

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        (&*escaped(self.0)).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        <&str as ToSql>::accepts(ty)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Stored {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        <&str as FromSql>::from_sql(ty, raw).map(|kept| Self(unescaped(kept)))
    }

    fn accepts(ty: &Type) -> bool {
        <&str as FromSql>::accepts(ty)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escaped, unescaped};

    proptest! {
        #[test]
        fn text_comes_back(text in prop::collection::vec(
            prop_oneof![Just('\0'), Just(char::MAX), Just('0'), Just('1'), any::<char>()], 0..20,
        )) {
            let text: String = text.into_iter().collect();
            let kept = escaped(&text);
            prop_assert!(!kept.contains('\0'));
            prop_assert_eq!(unescaped(&kept), text);
        }
    }
}
