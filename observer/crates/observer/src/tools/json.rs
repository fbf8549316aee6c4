//! Objects and lists in JSON that processes of the pod have written.
//!
//! The derive macro of serde cannot be used: the program is linked statically, and its target has
//! no procedural macros.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Error, SeqAccess, Visitor};

/// Declares an object of JSON. A member that is missing is `None`, and unknown members are ignored,
/// because a later version may have others.
macro_rules! object {
    ($name:ident { $($member:ident: $kind:ty),* $(,)? }) => {
        #[derive(Default)]
        struct $name {
            $($member: Option<$kind>),*
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Members;
                impl<'de> ::serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, out: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        out.write_str("an object")
                    }

                    fn visit_map<A: ::serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        let mut found = $name::default();
                        while let Some(name) = map.next_key::<String>()? {
                            match name.as_str() {
                                $(stringify!($member) => found.$member = map.next_value()?,)*
                                _ => {
                                    map.next_value::<::serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(found)
                    }
                }
                from.deserialize_map(Members)
            }
        }
    };
}

pub(crate) use object;

/// A list of at most `MAX` items.
pub struct List<T, const MAX: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Items<T, const MAX: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Items<T, MAX> {
            type Value = Vec<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "a list of at most {MAX} items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    if items.len() == MAX {
                        return Err(A::Error::custom("the list is too long"));
                    }
                    items.push(item);
                }
                Ok(items)
            }
        }
        let items = Items::<T, MAX>(PhantomData);
        from.deserialize_seq(items).map(Self)
    }
}
