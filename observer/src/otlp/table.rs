//! The latest values of a log, in bounded memory.

use std::collections::BTreeMap;

use serde_json::Value;

use super::description::{Column, Description, Section};
use super::reader::Row;
use crate::json::clean;

/// The most things (processes, devices, …) whose values are kept.
const MAX_MEMBERS: usize = 1024;
/// The longest text of a key, in bytes.
const MAX_NAME: usize = 255;
/// Rows of one timepoint arrive within this many seconds.
const TIMEPOINT: f64 = 0.05;

/// Whether a section describes rows between the markers, or lines of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows between the markers.
    Row,
    /// Lines of the summary.
    Summary,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// The row does not have the key.
    Missing,
    /// An id.
    Number(i64),
    /// A text.
    Text(Box<str>),
}

/// A point to export.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The column.
    pub column: &'a Column,
    /// The attributes that the keys of the row have.
    pub attributes: &'a [String],
    /// The values of these attributes.
    pub names: &'a [Name],
    /// The value, in the unit of the column.
    pub value: f64,
}

/// The latest values.
pub struct Table {
    shapes: Vec<Shape>,
    /// The shape of each section, and the position of its first value in that shape.
    rows: Vec<(usize, usize)>,
    summary: Vec<(usize, usize)>,
    /// The sections, those of the rows first.
    sections: Vec<Section>,
    row_sections: usize,
    members: usize,
    left_out: u64,
}

/// The things that sections with the same keys describe.
struct Shape {
    keys: Vec<String>,
    is_member: Vec<bool>,
    attributes: Vec<String>,
    columns: Vec<Column>,
    /// Whether the values describe the whole run, so that they never become outdated.
    is_summary: bool,
    members: BTreeMap<Vec<Name>, Member>,
    groups: BTreeMap<Vec<Name>, Group>,
    /// When the last row arrived.
    latest: f64,
    /// The seconds between the last two timepoints.
    gap: f64,
}

/// A thing, such as a process.
struct Member {
    seen: f64,
    /// The longest time between two of its rows.
    gap: f64,
    /// Its last values. NaN is unknown.
    values: Vec<f64>,
}

/// The members that are exported together. Without keys that tell members apart, each is a group.
struct Group {
    /// The growth of the counters of all members, also of those that have ended. NaN is unknown.
    totals: Vec<f64>,
    /// The sums of the gauges of the present members, and the number of members with a value.
    sums: Vec<(f64, u32)>,
}

impl Table {
    /// Creates an empty table.
    #[must_use]
    pub fn new(description: &Description) -> Self {
        let mut table = Self {
            shapes: Vec::new(),
            rows: Vec::new(),
            summary: Vec::new(),
            sections: Vec::new(),
            row_sections: description.sections.len(),
            members: 0,
            left_out: 0,
        };
        for section in &description.sections {
            let place = table.add_section(section, false);
            table.rows.push(place);
        }
        for section in &description.summary {
            let place = table.add_section(section, true);
            table.summary.push(place);
        }
        table
    }

    fn add_section(&mut self, section: &Section, is_summary: bool) -> (usize, usize) {
        self.sections.push(section.clone());
        let keys: Vec<String> = section.keys.iter().map(|key| key.column.clone()).collect();
        let is_same = |shape: &Shape| shape.is_summary == is_summary && shape.keys == keys;
        let at = self.shapes.iter().position(is_same).unwrap_or_else(|| {
            let shown = section.keys.iter().filter(|key| !key.is_member);
            self.shapes.push(Shape {
                is_member: section.keys.iter().map(|key| key.is_member).collect(),
                attributes: shown.map(|key| key.attribute.clone()).collect(),
                columns: Vec::new(),
                is_summary,
                members: BTreeMap::new(),
                groups: BTreeMap::new(),
                latest: 0.0,
                gap: 0.0,
                keys,
            });
            self.shapes.len() - 1
        });
        let columns = &mut self.shapes[at].columns;
        let first = columns.len();
        columns.extend(section.values.iter().cloned());
        (at, first)
    }

    /// Returns the number of rows that were left out because there are too many things.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Records a row of a section.
    pub fn record(&mut self, kind: Kind, section: usize, row: &Row, now: f64) {
        let (places, offset) = match kind {
            Kind::Row => (&self.rows, 0),
            Kind::Summary => (&self.summary, self.row_sections),
        };
        let Some((at, first)) = places.get(section).copied() else {
            return;
        };
        let Some(values) = self.sections.get(offset + section).map(|one| &one.values) else {
            return;
        };
        let shape = &mut self.shapes[at];
        let names = shape.names_of(row);
        if !shape.members.contains_key(&names) {
            if self.members >= MAX_MEMBERS && !shape.remove_absent() {
                self.left_out += 1;
                return;
            }
            self.members = self.members.min(MAX_MEMBERS - 1) + 1;
        }
        shape.record(names, first, values, row, now);
    }

    /// Records a line of the summary, in the first section whose first key the line has.
    pub fn record_summary(&mut self, row: &Row, now: f64) {
        let sections = self.sections.iter().skip(self.row_sections);
        let has_key = |section: &Section| {
            let key = section.keys.first();
            key.is_some_and(|key| row.contains_key(&key.column))
        };
        let found = sections.map(has_key).position(|has| has);
        if let Some(section) = found {
            self.record(Kind::Summary, section, row, now);
        }
    }

    /// Calculates the values of all groups, before they are exported.
    pub fn sum_up(&mut self) {
        for shape in &mut self.shapes {
            shape.sum_up();
        }
    }

    /// Calls a function with each point, those with the same column one after the other.
    pub fn each_point<'a>(&'a self, mut then: impl FnMut(Point<'a>)) {
        for shape in &self.shapes {
            for (at, column) in shape.columns.iter().enumerate() {
                for (names, group) in &shape.groups {
                    let value = group.value(at, column);
                    if value.is_finite() {
                        then(Point {
                            column,
                            attributes: &shape.attributes,
                            names,
                            value: value * column.scale,
                        });
                    }
                }
            }
        }
    }

    /// Forgets the things that are gone and that were exported for the last time.
    pub fn forget_absent(&mut self) {
        for shape in &mut self.shapes {
            // In a group of several members, the totals have the growth of each member. They would
            // count a member twice that is forgotten and returns.
            if !shape.is_member.contains(&true) {
                let before = shape.members.len();
                while shape.remove_absent() {}
                self.members -= before - shape.members.len();
            }
        }
    }

    #[cfg(test)]
    pub(super) fn describe_points(&mut self) -> Vec<String> {
        self.sum_up();
        let mut points = Vec::new();
        self.each_point(|point| {
            let attributes: Vec<String> = point
                .attributes
                .iter()
                .zip(point.names)
                .filter_map(|(attribute, name)| match name {
                    Name::Missing => None,
                    Name::Number(number) => Some(format!("{attribute}={number}")),
                    Name::Text(text) => Some(format!("{attribute}={text}")),
                })
                .collect();
            let (name, value) = (&point.column.name, point.value);
            points.push(format!("{name}{{{}}} {value}", attributes.join(",")));
        });
        points
    }
}

impl Shape {
    fn names_of(&self, row: &Row) -> Vec<Name> {
        self.keys
            .iter()
            .map(|key| name_from(row.get(key)))
            .collect()
    }

    fn group_of(&self, names: &[Name]) -> Vec<Name> {
        let pairs = names.iter().zip(&self.is_member);
        pairs
            .filter(|(_, is_member)| !**is_member)
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn record(&mut self, names: Vec<Name>, first: usize, values: &[Column], row: &Row, now: f64) {
        let width = self.columns.len();
        let group = self.group_of(&names);
        let group = self.groups.entry(group).or_insert_with(|| Group {
            totals: vec![f64::NAN; width],
            sums: vec![(0.0, 0); width],
        });
        let member = self.members.entry(names).or_insert_with(|| Member {
            seen: now,
            gap: 0.0,
            values: vec![f64::NAN; width],
        });
        let gap = now - member.seen;
        if gap > TIMEPOINT {
            member.gap = member.gap.max(gap);
            self.gap = gap;
        }
        member.seen = now;
        self.latest = now;
        for (at, column) in values.iter().enumerate() {
            let Some(cell) = row.get(&column.column) else {
                continue;
            };
            let (value, known) = (number_from(cell), &mut member.values[first + at]);
            if !column.is_counter {
                *known = value;
            } else if value.is_finite() {
                let total = &mut group.totals[first + at];
                // A counter that falls has begun again at zero.
                let growth = if value >= *known {
                    value - *known
                } else {
                    value
                };
                *total = growth + if total.is_finite() { *total } else { 0.0 };
                *known = value;
            }
        }
    }

    /// Whether a member is gone: others have had rows after its next row was due.
    fn is_absent(&self, member: &Member) -> bool {
        let due = 1.5 * member.gap.max(self.gap) + 1.0;
        !self.is_summary && self.latest - member.seen > due
    }

    /// Removes the member that is gone for the longest time. Its group stays if it has others.
    /// Returns false if no member is gone.
    fn remove_absent(&mut self) -> bool {
        let absent = self.members.iter().filter(|(_, one)| self.is_absent(one));
        let oldest = absent.min_by(|(_, one), (_, other)| one.seen.total_cmp(&other.seen));
        let Some(names) = oldest.map(|(names, _)| names.clone()) else {
            return false;
        };
        self.members.remove(&names);
        if !self.is_member.contains(&true) {
            self.groups.remove(&names);
        }
        true
    }

    fn sum_up(&mut self) {
        for group in self.groups.values_mut() {
            group.sums.fill((0.0, 0));
        }
        for (names, member) in &self.members {
            if self.is_absent(member) {
                continue;
            }
            let Some(group) = self.groups.get_mut(&self.group_of(names)) else {
                continue;
            };
            for (sum, value) in group.sums.iter_mut().zip(&member.values) {
                if value.is_finite() {
                    *sum = (sum.0 + value, sum.1 + 1);
                }
            }
        }
    }
}

impl Group {
    /// The value of a column; NaN if it is unknown.
    fn value(&self, at: usize, column: &Column) -> f64 {
        let (sum, count) = self.sums[at];
        match (column.is_counter, count) {
            (true, _) => self.totals[at],
            (false, 0) => f64::NAN,
            (false, _) if column.is_mean => sum / f64::from(count),
            (false, _) => sum,
        }
    }
}

fn name_from(value: Option<&Value>) -> Name {
    match value {
        Some(Value::Number(number)) => number
            .as_i64()
            .map_or_else(|| text_from(&number.to_string()), Name::Number),
        Some(Value::String(text)) => text_from(text),
        _ => Name::Missing,
    }
}

/// A text of at most [`MAX_NAME`] bytes, without control characters.
fn text_from(text: &str) -> Name {
    let text = clean(text.as_bytes());
    let mut end = text.len().min(MAX_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Name::Text(text[..end].into())
}

/// A number; perf-sysstat writes some numbers in quotation marks. NaN if it is unknown.
fn number_from(value: &Value) -> f64 {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number
        .filter(|number| number.is_finite())
        .unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(is_member: bool) -> Table {
        let value = |name: &str, behavior: &str, mean: bool| json!({"column": name, "name": name, "unit": "s", "behavior": behavior, "mean": mean});
        let description = json!({"metric": "m", "format": "jsonl", "sections": [{"name": "s",
            "keys": [{"column": "program", "attribute": "program"},
                {"column": "pid", "attribute": "pid", "member": is_member}],
            "values": [value("time", "counter", false), value("rss", "gauge", false),
                value("heat", "gauge", true)]}]});
        Table::new(&Description::parse(description.to_string().as_bytes()).unwrap())
    }

    fn record(table: &mut Table, now: f64, pid: i64, time: f64, rss: f64) {
        let row = json!({"program": "lmp", "pid": pid, "time": time, "rss": rss, "heat": rss});
        table.record(Kind::Row, 0, row.as_object().unwrap(), now);
    }

    #[test]
    fn a_group_has_the_sum_of_its_members() {
        let mut table = table(true);
        record(&mut table, 0.0, 1, 5.0, 10.0);
        record(&mut table, 0.0, 2, 7.0, 30.0);
        let expected = [
            "time{program=lmp} 12",
            "rss{program=lmp} 40",
            "heat{program=lmp} 20",
        ];
        assert_eq!(table.describe_points(), expected);
    }

    #[test]
    fn counters_keep_what_ended_members_used_and_gauges_do_not() {
        let mut table = table(true);
        for now in 0..10 {
            let now = f64::from(now);
            record(&mut table, now, 1, now, 10.0);
            if now < 3.0 {
                record(&mut table, now, 2, now, 30.0);
            }
        }
        let expected = [
            "time{program=lmp} 11",
            "rss{program=lmp} 10",
            "heat{program=lmp} 10",
        ];
        assert_eq!(table.describe_points(), expected);
    }

    #[test]
    fn a_counter_that_begins_again_still_grows() {
        let mut table = table(false);
        record(&mut table, 0.0, 1, 5.0, 0.0);
        record(&mut table, 1.0, 1, 2.0, 0.0);
        record(&mut table, 2.0, 1, 3.0, 0.0);
        assert_eq!(table.describe_points()[0], "time{program=lmp,pid=1} 8");
    }

    #[test]
    fn a_process_is_exported_once_more_after_its_end() {
        let mut table = table(false);
        record(&mut table, 0.0, 1, 5.0, 1.0);
        for now in 0..5 {
            record(&mut table, f64::from(now), 2, 1.0, 1.0);
        }
        assert_eq!(table.describe_points()[0], "time{program=lmp,pid=1} 5");
        table.forget_absent();
        assert_eq!(table.describe_points()[0], "time{program=lmp,pid=2} 1");
        assert_eq!(table.members, 1);
    }

    #[test]
    fn a_pause_of_the_whole_log_forgets_nothing() {
        let mut table = table(true);
        for now in [0.0, 1.0, 60.0] {
            record(&mut table, now, 1, now, 1.0);
            record(&mut table, now, 2, now, 1.0);
        }
        assert_eq!(
            table.describe_points()[..2],
            ["time{program=lmp} 120", "rss{program=lmp} 2"]
        );
    }

    #[test]
    fn unknown_values_have_no_point() {
        let mut table = table(false);
        let row = json!({"program": "lmp", "pid": 1, "time": null, "rss": "much"});
        table.record(Kind::Row, 0, row.as_object().unwrap(), 0.0);
        assert!(table.describe_points().is_empty());
    }

    #[test]
    fn the_number_of_members_is_bounded() {
        for is_member in [false, true] {
            let mut table = table(is_member);
            for pid in 0..5000 {
                record(&mut table, 0.0, pid, 1.0, 1.0);
            }
            assert_eq!(
                (table.members, table.left_out()),
                (MAX_MEMBERS, 5000 - 1024)
            );
            // Processes that end make room.
            for now in 1..10 {
                record(&mut table, f64::from(now), 0, 1.0, 1.0);
            }
            record(&mut table, 9.0, 9000, 1.0, 1.0);
            assert_eq!(table.left_out(), 5000 - 1024);
            assert_eq!(table.shapes[0].members.len(), MAX_MEMBERS);
        }
    }
}
