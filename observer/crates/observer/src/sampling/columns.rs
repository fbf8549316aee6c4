//! The columns of rows, as the catalog describes them. [`row!`](super::row) declares most of them.

/// The rows of a metric.
#[derive(Debug)]
pub struct Rows {
    /// The format of the log, as the catalog names it.
    pub format: &'static str,
    /// The rows at the timepoints.
    pub sections: &'static [Section],
    /// The lines of the summary, except the line for the whole run.
    pub summary: &'static [Section],
}

/// The rows that describe things of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The name of the section.
    pub name: &'static str,
    /// The thing that a row describes.
    pub of: &'static str,
    /// The topic of the report to which the rows belong.
    pub title: Option<&'static str>,
    /// What the rows describe, each line after a blank.
    pub description: &'static str,
    /// The columns.
    pub columns: Columns,
}

/// Columns, in the order of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The metric and the section under whose names the live export exports the columns, unless it
    /// is the section itself.
    pub export: Option<&'static str>,
    /// Whether the columns are those of threads, which have neither titles nor quantities, and are
    /// exported under names of their own.
    pub is_of_threads: bool,
    /// The columns, and columns that several sections share.
    pub parts: &'static [Part],
}

/// One or several columns.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// A column.
    Column(Column),
    /// Columns that several sections share.
    Shared(Columns),
}

/// A column, as the catalog describes it.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct Column {
    /// The name.
    pub name: &'static str,
    /// Whether its values are texts.
    pub is_text: bool,
    /// What it means, each line after a blank.
    pub meaning: &'static str,
    /// Whether it is a part of the key of its row.
    pub is_key: bool,
    /// The unit and the behavior of a measured number.
    pub measure: Option<(&'static str, &'static str)>,
    /// A few words for people.
    pub title: Option<&'static str>,
    /// The quantity that it measures.
    pub quantity: Option<&'static str>,
    /// Whether the value is estimated from samples.
    pub is_sampled: bool,
    /// The name in the live export.
    pub export_name: Option<&'static str>,
    /// The unit in the live export.
    pub export_unit: Option<&'static str>,
    /// The factor that converts a value to this unit.
    pub scale: Option<u32>,
    /// An attribute of the exported points.
    pub attribute: Option<(&'static str, &'static str)>,
    /// Whether rows that differ in this key are summed, where the export should not decide.
    pub is_summed: Option<bool>,
    /// Whether the mean of the rows is exported instead of the sum.
    pub is_mean: bool,
    /// Whether the values are exported.
    pub is_exported: bool,
}

impl Section {
    /// Returns the section as a part of another metric. `name` is the metric and the section under
    /// whose names its columns are exported.
    pub const fn exported_as(self, name: &'static str) -> Self {
        Self {
            columns: self.columns.exported_as(name),
            ..self
        }
    }
}

impl Columns {
    /// Returns the columns as a part of another section. `name` is the metric and the section under
    /// whose names they are exported.
    pub const fn exported_as(self, name: &'static str) -> Self {
        Self {
            export: Some(name),
            ..self
        }
    }

    /// Returns the columns as those of threads.
    pub const fn of_threads(self) -> Self {
        Self {
            is_of_threads: true,
            ..self
        }
    }

    /// Declares columns.
    pub const fn new(parts: &'static [Part]) -> Self {
        Self {
            export: None,
            is_of_threads: false,
            parts,
        }
    }
}

impl Column {
    /// Declares a column whose values are texts or numbers.
    pub const fn new(name: &'static str, is_text: bool, meaning: &'static str) -> Self {
        Self {
            name,
            is_text,
            meaning,
            is_key: false,
            measure: None,
            title: None,
            quantity: None,
            is_sampled: false,
            export_name: None,
            export_unit: None,
            scale: None,
            attribute: None,
            is_summed: None,
            is_mean: false,
            is_exported: true,
        }
    }
}

/// Adds methods that set one property of a column.
macro_rules! setters {
    ($($(#[$about:meta])* $method:ident($($value:ident: $type:ty),*) $field:ident: $set:expr;)*) => {
        impl Column {
            $(
                $(#[$about])*
                pub const fn $method(self, $($value: $type),*) -> Self {
                    Self { $field: $set, ..self }
                }
            )*
        }
    };
}

setters! {
    /// Declares that the column is a part of the key of its row.
    key() is_key: true;
    /// Declares that the number only grows.
    counter(unit: &'static str) measure: Some((unit, "counter"));
    /// Declares that the number is a state, or an amount or rate of the interval.
    gauge(unit: &'static str) measure: Some((unit, "gauge"));
    /// Sets the words for people.
    title(title: &'static str) title: Some(title);
    /// Sets the quantity that the column measures.
    quantity(quantity: &'static str) quantity: Some(quantity);
    /// Declares that the value is estimated from samples.
    sampled() is_sampled: true;
    /// Sets the name in the live export.
    export_name(name: &'static str) export_name: Some(name);
    /// Sets the unit in the live export.
    export_unit(unit: &'static str) export_unit: Some(unit);
    /// Sets the factor that converts a value to the unit of the live export.
    scale(factor: u32) scale: Some(factor);
    /// Sets an attribute of the exported points.
    attribute(name: &'static str, value: &'static str) attribute: Some((name, value));
    /// Declares that rows that differ in this key are summed.
    summed() is_summed: Some(true);
    /// Declares that rows that differ in this key are not summed.
    not_summed() is_summed: Some(false);
    /// Declares that the mean of the rows is exported instead of the sum.
    mean() is_mean: true;
    /// Declares that the values are not exported.
    not_exported() is_exported: false;
}

/// No columns.
pub const NOTHING: Columns = Columns::new(&[]);

/// The columns that tell processes apart. They are not next to each other in a row, because the
/// container and the program end it ([`Process::tail`](super::process::Process::tail)).
pub const PROCESS: Columns = Columns::new(&[
    Part::Column(Column::new("container", true, "the container of the process").key()),
    Part::Column(Column::new("program", true, "the name of the program").key()),
    Part::Column(
        Column::new(
            "pid",
            false,
            "process id, in the process namespace of the pod",
        )
        .key(),
    ),
    Part::Column(ATTEMPT),
]);

/// The attempt of the process of a row. It is missing in the rows of the first one, and a part of
/// the end of a row as well.
pub const ATTEMPT: Column = Column::new(
    "attempt",
    false,
    "the start of the container, of those that were observed: 2 after its first restart; null for \
     the first one",
);

/// The columns that tell the programs of the summary apart.
pub const PROGRAM: Columns = Columns::new(&[
    Part::Column(Column::new("program", true, "the name of the program").key()),
    Part::Column(Column::new("container", true, "the container of the processes").key()),
]);
