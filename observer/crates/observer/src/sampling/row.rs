//! The rows of a log. [`row!`] declares a row once: the code that writes it, and the columns that
//! the catalog describes.

use encode::json::{push_member, push_or_null, push_string};
use encode::number::{push_decimal, push_scaled};

/// Begins the line of the summary for a program. `container` may be empty.
pub fn begin_program(out: &mut Vec<u8>, program: &str, container: &str) {
    out.extend_from_slice(b"{\"program\":");
    push_string(out, program);
    push_member(out, "container", container);
}

/// Appends the beginning of a row: its time and the name of its section.
pub fn begin(out: &mut Vec<u8>, time: &str, section: &str) {
    out.extend_from_slice(b"{\"time\":\"");
    out.extend_from_slice(time.as_bytes());
    out.extend_from_slice(b"\",\"section\":\"");
    out.extend_from_slice(section.as_bytes());
    out.push(b'"');
}

/// Returns the id of a process as a number of a row.
pub fn id(pid: i32) -> u64 {
    u64::from(pid.unsigned_abs())
}

/// Appends a whole number, or null. `key` is the key with its quotes, its comma and its colon.
pub fn number(out: &mut Vec<u8>, key: &str, value: impl Into<Option<u64>>) {
    out.extend_from_slice(key.as_bytes());
    push_or_null(out, value.into());
}

/// Appends the attempt of a process, unless it is the first one.
pub fn attempt(out: &mut Vec<u8>, key: &str, value: u32) {
    if value > 1 {
        number(out, key, u64::from(value));
    }
}

/// Appends a text, or null.
pub fn text<'a>(out: &mut Vec<u8>, key: &str, value: impl Into<Option<&'a str>>) {
    out.extend_from_slice(key.as_bytes());
    match value.into() {
        Some(value) => push_string(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// Returns names as the text of a column: separated by commas, or `none`.
pub fn names_or_none<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(",")
    }
}

/// Appends a number with two decimals, or null.
pub fn decimal(out: &mut Vec<u8>, key: &str, value: impl Into<Option<f64>>) {
    out.extend_from_slice(key.as_bytes());
    match value.into() {
        Some(value) => push_decimal(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends a number of thousandths as a number with three decimals, or null.
pub fn thousandths(out: &mut Vec<u8>, key: &str, value: impl Into<Option<u64>>) {
    scaled(out, key, value.into(), 3);
}

/// Appends a number of millionths as a number with six decimals, or null.
pub fn millionths(out: &mut Vec<u8>, key: &str, value: impl Into<Option<u64>>) {
    scaled(out, key, value.into(), 6);
}

/// Appends a time in nanoseconds as seconds with six decimals, or null.
pub fn nanoseconds(out: &mut Vec<u8>, key: &str, value: impl Into<Option<u64>>) {
    scaled(out, key, value.into().map(|time| time / 1000), 6);
}

fn scaled(out: &mut Vec<u8>, key: &str, value: Option<u64>, digits: u32) {
    out.extend_from_slice(key.as_bytes());
    match value {
        Some(value) => push_scaled(out, value, digits),
        None => out.extend_from_slice(b"null"),
    }
}

/// Declares a row: its section, and the function that writes it.
///
/// ```text
/// row! {
///     /// what the rows describe, for the catalog
///     pub PLACEMENT: "placement" of "process", "The topic in the report";
///     /// Appends the row of a process.
///     pub fn push_placement(out, time: &str, process: &Process, known: &Placement)
///     for process(time, id(process.pid), &process.tail) {
///         let share = known.share;
///         /// what the column means, for the catalog
///         pss: number(share.map(|share| share.resident)) => gauge("KiB").title("Memory");
///         ..TOTALS: push_totals(process);
///     }
/// }
/// ```
///
/// A column has its name, the function that writes its value, and the methods of
/// [`Column`](super::columns::Column) with which the catalog describes it. A column without a
/// meaning is not in the catalog. `..` inserts columns that several rows share. The declaration of
/// shared columns has only a name (`pub TOTALS;`), and its function does not begin or end a row.
///
/// After `for` is what begins and ends the row: `process(time, pid, tail)`, `thing(time)`, or, for
/// a line of the summary, `program(name, container)`. `process_in(section, time, pid, tail)` writes
/// the row into another section. If the function has no parameter `out`, it returns the row.
macro_rules! row {
    // Takes one item after the other, with the statements and the columns of those before.
    (@items $out:ident $about:tt { $($code:tt)* } $parts:tt
        let $pattern:pat = $value:expr; $($rest:tt)*
    ) => {
        row! { @items $out $about { $($code)* let $pattern = $value; } $parts $($rest)* }
    };
    (@items $out:ident $about:tt { $($code:tt)* } { $($parts:tt)* }
        ..$shared:ident $(.$method:ident($($words:expr),*))?: $push:ident($($value:expr),* $(,)?);
        $($rest:tt)*
    ) => {
        row! { @items $out $about
            { $($code)* $push($out, $($value),*); }
            { $($parts)* $crate::sampling::columns::Part::Shared(
                $shared $(.$method($($words),*))?
            ), }
            $($rest)*
        }
    };
    (@items $out:ident $about:tt { $($code:tt)* } { $($parts:tt)* }
        $(#[doc = $meaning:literal])+
        $name:ident: $kind:ident($($value:expr),* $(,)?)
        $(=> $($method:ident($($words:expr),*)).+)?; $($rest:tt)*
    ) => {
        row! { @items $out $about
            { $($code)* $kind($out, concat!(",\"", stringify!($name), "\":"), $($value),*); }
            {
                $($parts)*
                $crate::sampling::columns::Part::Column(
                    $crate::sampling::columns::Column::new(
                        stringify!($name),
                        row!(@is_text $kind),
                        concat!($($meaning),+),
                    )
                    $($(.$method($($words),*))+)?
                ),
            }
            $($rest)*
        }
    };
    (@items $out:ident $about:tt { $($code:tt)* } $parts:tt
        $name:ident: $kind:ident($($value:expr),* $(,)?); $($rest:tt)*
    ) => {
        row! { @items $out $about
            { $($code)* $kind($out, concat!(",\"", stringify!($name), "\":"), $($value),*); }
            $parts $($rest)*
        }
    };
    (@items $out:ident
        {
            section {$vis:vis $section:ident}
            $name:literal $of:literal [$($title:literal)?] $text:expr;
            $head:ident($($argument:expr),*) {$($signature:tt)*} {$($before:tt)*} {$($end:tt)*}
        }
        { $($code:tt)* } { $($parts:tt)* }
    ) => {
        #[doc = concat!("The rows of the section `", $name, "`.")]
        $vis const $section: $crate::sampling::columns::Section = $crate::sampling::columns::Section {
            name: $name,
            of: $of,
            title: row!(@title $($title)?),
            description: $text,
            columns: $crate::sampling::columns::Columns::new(&[
                $crate::sampling::columns::Part::Shared(row!(@keys $head)),
                $($parts)*
            ]),
        };
        $($signature)* {
            $($before)*
            row!(@begin $out $name $head($($argument),*));
            $($code)*
            row!(@end $out $head($($argument),*));
            $($end)*
        }
    };
    (@items $out:ident
        { shared $(#[$about:meta])* {$vis:vis $columns:ident} {$($signature:tt)*} }
        { $($code:tt)* } { $($parts:tt)* }
    ) => {
        $(#[$about])*
        $vis const $columns: $crate::sampling::columns::Columns =
            $crate::sampling::columns::Columns::new(&[$($parts)*]);
        $($signature)* { $($code)* }
    };
    (@is_text text) => { true };
    (@is_text plain) => { true };
    (@is_text $kind:ident) => { false };
    (@title) => { None };
    (@title $title:literal) => { Some($title) };
    (@keys thing) => { $crate::sampling::columns::NOTHING };
    (@keys program) => { $crate::sampling::columns::PROGRAM };
    (@keys process_in) => { $crate::sampling::columns::PROCESS };
    (@keys process) => { $crate::sampling::columns::PROCESS };
    (@begin $out:ident $name:literal thing($time:expr)) => {
        $crate::sampling::row::begin($out, $time, $name)
    };
    (@begin $out:ident $name:literal process($($argument:expr),*)) => {
        row!(@begin $out $name process_in($name, $($argument),*))
    };
    (@begin $out:ident $name:literal process_in($section:expr, $time:expr, $pid:expr, $_:expr)) => {
        $crate::sampling::row::begin($out, $time, $section);
        $crate::sampling::row::number($out, ",\"pid\":", $pid);
    };
    (@begin $out:ident $name:literal program($program:expr, $container:expr)) => {
        $crate::sampling::row::begin_program($out, $program, $container)
    };
    (@end $out:ident process($time:expr, $pid:expr, $tail:expr)) => {
        $out.extend_from_slice($tail)
    };
    (@end $out:ident process_in($section:expr, $time:expr, $pid:expr, $tail:expr)) => {
        $out.extend_from_slice($tail)
    };
    (@end $out:ident $head:ident($($argument:expr),*)) => { $out.push(b'}') };

    // A row that is appended, a row that is returned, and columns that several rows share.
    (
        $(#[doc = $description:literal])+
        $vis:vis $section:ident: $name:literal of $of:literal $(, $title:literal)?;
        $(#[$attribute:meta])*
        $open:vis fn $function:ident($out:ident, $($parameters:tt)*)
        for $head:ident($($argument:expr),*) { $($items:tt)* }
    ) => {
        row! { @items $out
            {
                section {$vis $section}
                $name $of [$($title)?] concat!($($description),+);
                $head($($argument),*)
                {
                    $(#[$attribute])*
                    $open fn $function($out: &mut Vec<u8>, $($parameters)*)
                }
                {} {}
            }
            {} {} $($items)*
        }
    };
    (
        $(#[doc = $description:literal])+
        $vis:vis $section:ident: $name:literal of $of:literal $(, $title:literal)?;
        $(#[$attribute:meta])*
        $open:vis fn $function:ident($($parameters:tt)*)
        for $head:ident($($argument:expr),*) { $($items:tt)* }
    ) => {
        row! { @items out
            {
                section {$vis $section}
                $name $of [$($title)?] concat!($($description),+);
                $head($($argument),*)
                {
                    $(#[$attribute])*
                    $open fn $function($($parameters)*) -> Vec<u8>
                }
                { let mut bytes = Vec::new(); let out = &mut bytes; } { bytes }
            }
            {} {} $($items)*
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis $columns:ident;
        $(#[$attribute:meta])*
        $open:vis fn $function:ident($out:ident, $($parameters:tt)*)
        { $($items:tt)* }
    ) => {
        row! { @items $out
            {
                shared $(#[$about])* {$vis $columns}
                {
                    $(#[$attribute])*
                    $open fn $function($out: &mut Vec<u8>, $($parameters)*)
                }
            }
            {} {} $($items)*
        }
    };
}

pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::columns::Part;

    row! {
        /// The shared columns.
        SHARED;
        /// Appends the shared columns.
        fn push_shared(out, time: u64) {
            /// a time
            waited: nanoseconds(time) => counter("s");
        }
    }

    row! {
        /// the processes
        /// of a pod
        EXAMPLE: "example" of "process", "Processes";
        /// Returns a row.
        fn example(name: Option<&str>, share: f64) for process("T", id(7), b",\"program\":\"a\"}") {
            let share = share * 100.0;
            /// a text
            name: text(name) => key();
            ..SHARED.exported_as("other.section"): push_shared(1_500_000);
            hidden: number(None);
            /// a number
            percent: decimal(share) => gauge("percent").title("Share");
            /// a number
            clock: thousandths(1500);
            /// a number
            micro: millionths(7);
        }
    }

    #[test]
    fn a_row_has_the_declared_columns_in_their_order() {
        let row = String::from_utf8(example(Some("b"), 0.5)).unwrap();
        assert_eq!(
            row,
            r#"{"time":"T","section":"example","pid":7,"name":"b","waited":0.001500,"hidden":null,"percent":50.00,"clock":1.500,"micro":0.000007,"program":"a"}"#
        );
        assert!(
            example(None, 0.5)
                .windows(11)
                .any(|text| text == b"\"name\":null")
        );
    }

    #[test]
    fn the_catalog_describes_the_columns_with_a_meaning() {
        assert_eq!(EXAMPLE.description, " the processes of a pod");
        let [Part::Shared(keys), name, Part::Shared(shared), ..] = EXAMPLE.columns.parts else {
            panic!()
        };
        assert_eq!(keys.parts.len(), 4);
        assert_eq!(shared.export, Some("other.section"));
        let Part::Column(name) = name else { panic!() };
        assert!(name.is_text && name.is_key && name.meaning == " a text");
        let names = EXAMPLE.columns.parts.iter().filter_map(|part| match part {
            Part::Column(column) => Some(column.name),
            Part::Shared(_) => None,
        });
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["name", "percent", "clock", "micro"]
        );
    }
}
