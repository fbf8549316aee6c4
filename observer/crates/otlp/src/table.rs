//! The latest values of a log, in bounded memory.

use std::collections::BTreeMap;

use encode::json::clean;
use serde_json::Value;

use crate::description::{Column, Description, Section};
use crate::row::{Kind, Row};

/// The most things (processes, devices, …) whose values are kept.
const MAX_MEMBERS: usize = 1024;
/// The longest text of a key, in bytes.
const MAX_NAME: usize = 255;
/// Rows of one timepoint arrive within this many seconds.
const TIMEPOINT: f64 = 0.05;
/// If all known things are present, the seconds until the next search for one that is gone.
const SEARCH_PAUSE: f64 = 1.0;

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
    /// The number of members of all shapes.
    members: usize,
    /// When the last search for a member that is gone found none.
    searched: f64,
    left_out: u64,
}

/// The things that sections with the same keys describe, of which the same tell members apart.
struct Shape {
    keys: Vec<String>,
    is_member: Vec<bool>,
    attributes: Vec<String>,
    columns: Vec<Column>,
    /// Whether the values describe the whole run, so that they never become outdated.
    is_summary: bool,
    members: BTreeMap<Vec<Name>, Member>,
    groups: BTreeMap<Vec<Name>, Group>,
    /// When the last row arrived, in seconds.
    latest: f64,
    /// The seconds between the last two timepoints.
    gap: f64,
}

/// A thing, such as a process.
struct Member {
    /// When its last row arrived, in seconds.
    seen: f64,
    /// The longest time between two of its rows.
    gap: f64,
    /// Its last values. NaN is unknown.
    values: Vec<f64>,
}

/// The members that are exported together. Without keys that tell members apart, each is a group.
/// A group has at least one member.
struct Group {
    /// The counters of the members that were forgotten, and of those that began again at zero. NaN
    /// is unknown.
    earlier: Vec<f64>,
    /// The sums of the values of the members, and the number of members with a value.
    sums: Vec<(f64, u32)>,
}

impl Table {
    /// Creates an empty table.
    pub fn new(description: &Description) -> Self {
        let mut table = Self {
            shapes: Vec::new(),
            rows: Vec::new(),
            summary: Vec::new(),
            sections: Vec::new(),
            row_sections: description.sections.len(),
            members: 0,
            searched: f64::NEG_INFINITY,
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
        let is_member: Vec<bool> = section.keys.iter().map(|key| key.is_member).collect();
        let is_same = |shape: &Shape| {
            shape.is_summary == is_summary && shape.keys == keys && shape.is_member == is_member
        };
        let at = self.shapes.iter().position(is_same).unwrap_or_else(|| {
            let shown = section.keys.iter().filter(|key| !key.is_member);
            self.shapes.push(Shape {
                is_member: is_member.clone(),
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
        if shape.members.contains_key(&names) {
            shape.record(names, first, values, row, now);
        } else if make_room(&mut self.shapes, &mut self.members, &mut self.searched, now) {
            self.shapes[at].record(names, first, values, row, now);
        } else {
            self.left_out += 1;
        }
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

    /// Calculates the values of all groups at a time, before they are exported.
    pub fn sum_up(&mut self, now: f64) {
        for shape in &mut self.shapes {
            shape.sum_up(now);
        }
    }

    /// Calls a function with each point, those with the same column one after the other.
    pub fn each_point<'a>(&'a self, mut then: impl FnMut(Point<'a>)) {
        for shape in &self.shapes {
            for (at, column) in shape.columns.iter().enumerate() {
                for (names, group) in &shape.groups {
                    let value = group.value(at, column) * column.scale;
                    if value.is_finite() {
                        then(Point {
                            column,
                            attributes: &shape.attributes,
                            names,
                            value,
                        });
                    }
                }
            }
        }
    }

    /// Forgets the things that are gone and that were exported for the last time.
    pub fn forget_absent(&mut self) {
        for shape in &mut self.shapes {
            // A group of several members keeps the counters of those that were forgotten. If such a
            // member returned, its counters would be in the sum twice.
            if !shape.is_member.contains(&true) {
                let before = shape.members.len();
                while shape.remove_absent() {}
                self.members -= before - shape.members.len();
            }
        }
    }

    #[cfg(test)]
    pub(super) fn describe_points(&mut self, now: f64) -> Vec<String> {
        self.sum_up(now);
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

/// Counts a new member. If there are too many, forgets one that is gone. Returns false if none is.
fn make_room(shapes: &mut [Shape], members: &mut usize, searched: &mut f64, now: f64) -> bool {
    if *members >= MAX_MEMBERS {
        if now - *searched < SEARCH_PAUSE {
            return false;
        }
        if !shapes.iter_mut().any(Shape::remove_absent) {
            *searched = now;
            return false;
        }
        *members -= 1;
    }
    *members += 1;
    true
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
            earlier: vec![f64::NAN; width],
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
            } else if value >= 0.0 {
                // A counter that falls has begun again at zero.
                if value < *known {
                    add(&mut group.earlier[first + at], *known);
                }
                *known = value;
            }
        }
    }

    /// Whether a member is gone: others have had rows after its next row was due.
    fn is_absent(&self, member: &Member) -> bool {
        let due = 1.5 * member.gap.max(self.gap) + 1.0;
        !self.is_summary && self.latest - member.seen > due
    }

    /// Whether the gauges of a member are outdated: it is gone, or the whole log has paused for
    /// longer than the interval of the log can grow from one row to the next.
    fn is_outdated(&self, member: &Member, now: f64) -> bool {
        let gap = member.gap.max(self.gap);
        let has_paused = gap > 0.0 && now - member.seen > 2.5 * gap + 1.0;
        self.is_absent(member) || (has_paused && !self.is_summary)
    }

    /// Removes the member that is gone for the longest time, and its group if it has no others.
    /// Returns false if no member is gone.
    fn remove_absent(&mut self) -> bool {
        let absent = self.members.iter().filter(|(_, one)| self.is_absent(one));
        let oldest = absent.min_by(|(_, one), (_, other)| one.seen.total_cmp(&other.seen));
        let Some(names) = oldest.map(|(names, _)| names.clone()) else {
            return false;
        };
        let Some(member) = self.members.remove(&names) else {
            return false;
        };
        let name = self.group_of(&names);
        let is_group = |other: &Vec<Name>| self.group_of(other) == name;
        let has_others = self.is_member.contains(&true) && self.members.keys().any(is_group);
        if !has_others {
            self.groups.remove(&name);
        } else if let Some(group) = self.groups.get_mut(&name) {
            for (sum, value) in group.earlier.iter_mut().zip(&member.values) {
                if value.is_finite() {
                    add(sum, *value);
                }
            }
        }
        true
    }

    fn sum_up(&mut self, now: f64) {
        for group in self.groups.values_mut() {
            group.sums.fill((0.0, 0));
        }
        for (names, member) in &self.members {
            let is_outdated = self.is_outdated(member, now);
            let Some(group) = self.groups.get_mut(&self.group_of(names)) else {
                continue;
            };
            let values = member.values.iter().zip(&self.columns);
            for (sum, (value, column)) in group.sums.iter_mut().zip(values) {
                if value.is_finite() && (column.is_counter || !is_outdated) {
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
        let earlier = self.earlier[at];
        match (column.is_counter, count) {
            (true, 0) => earlier,
            (true, _) if earlier.is_nan() => sum,
            (true, _) => sum + earlier,
            (false, 0) => f64::NAN,
            (false, _) if column.is_mean => sum / f64::from(count),
            (false, _) => sum,
        }
    }
}

/// Adds a value to a sum, which is unknown at first.
fn add(sum: &mut f64, value: f64) {
    *sum = value + if sum.is_finite() { *sum } else { 0.0 };
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
        assert_eq!(table.describe_points(0.0), expected);
    }

    #[test]
    fn sections_with_the_same_keys_may_group_them_differently() {
        let section = |name: &str, member: &str| {
            format!(
                r#"{{"name":"{name}","keys":[{{"column":"rank","attribute":"rank"{member}}}],
                    "values":[{{"column":"{name}","name":"{name}","unit":"s","behavior":"gauge"}}]}}"#
            )
        };
        let sections = [section("sum", r#","member":true"#), section("each", "")].join(",");
        let text = format!(r#"{{"metric":"a","format":"jsonl","sections":[{sections}]}}"#);
        let mut table = Table::new(&Description::parse(text.as_bytes()).unwrap());
        for rank in [1, 2] {
            for (at, name) in ["sum", "each"].into_iter().enumerate() {
                let mut row = Row::new();
                row.insert("rank".to_owned(), rank.into());
                row.insert(name.to_owned(), 5.into());
                table.record(Kind::Row, at, &row, 0.0);
            }
        }
        let expected = ["sum{} 10", "each{rank=1} 5", "each{rank=2} 5"];
        assert_eq!(table.describe_points(0.0), expected);
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
        assert_eq!(table.describe_points(9.0), expected);
    }

    #[test]
    fn a_counter_that_begins_again_still_grows() {
        let mut table = table(false);
        record(&mut table, 0.0, 1, 5.0, 0.0);
        record(&mut table, 1.0, 1, 2.0, 0.0);
        record(&mut table, 2.0, 1, 3.0, 0.0);
        assert_eq!(table.describe_points(2.0)[0], "time{program=lmp,pid=1} 8");
    }

    #[test]
    fn a_process_is_exported_once_more_after_its_end() {
        let mut table = table(false);
        record(&mut table, 0.0, 1, 5.0, 1.0);
        for now in 0..5 {
            record(&mut table, f64::from(now), 2, 1.0, 1.0);
        }
        assert_eq!(table.describe_points(4.0)[0], "time{program=lmp,pid=1} 5");
        table.forget_absent();
        assert_eq!(table.describe_points(4.0)[0], "time{program=lmp,pid=2} 1");
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
            table.describe_points(60.0)[..2],
            ["time{program=lmp} 120", "rss{program=lmp} 2"]
        );
    }

    #[test]
    fn gauges_are_outdated_if_the_log_pauses_for_longer_than_usual() {
        let mut table = table(true);
        record(&mut table, 0.0, 1, 1.0, 7.0);
        record(&mut table, 10.0, 1, 2.0, 7.0);
        let present = ["time{program=lmp} 2", "rss{program=lmp} 7"];
        assert_eq!(table.describe_points(35.0)[..2], present);
        assert_eq!(table.describe_points(37.0), present[..1]);
        record(&mut table, 40.0, 1, 3.0, 7.0);
        assert_eq!(table.describe_points(40.0).len(), 3);
    }

    #[test]
    fn a_counter_has_the_value_of_the_row_without_an_error_of_rounding() {
        let mut table = table(false);
        for (now, time) in [(0.0, 0.07), (1.0, 0.15), (2.0, 0.29)] {
            record(&mut table, now, 1, time, 1.0);
        }
        assert_eq!(
            table.describe_points(2.0)[0],
            "time{program=lmp,pid=1} 0.29"
        );
    }

    #[test]
    fn values_that_are_too_large_have_no_point() {
        let mut table = table(false);
        table.shapes[0].columns[1].scale = 1e10;
        record(&mut table, 0.0, 1, -1.0, 1e300);
        assert_eq!(table.describe_points(0.0).len(), 1, "only the mean");
    }

    #[test]
    fn programs_that_have_ended_make_room_for_others() {
        let mut table = table(true);
        let mut now = 0.0;
        for program in 0..5000 {
            now += 1.0;
            for program in ["lmp", &program.to_string()] {
                let row = json!({"program": program, "pid": 1, "time": now});
                table.record(Kind::Row, 0, row.as_object().unwrap(), now);
            }
        }
        assert_eq!((table.members, table.left_out()), (MAX_MEMBERS, 0));
        assert_eq!(table.shapes[0].groups.len(), MAX_MEMBERS);
        assert!(
            table
                .describe_points(now)
                .contains(&"time{program=lmp} 5000".to_owned())
        );
    }

    #[test]
    fn a_forgotten_member_still_counts_in_its_group() {
        let mut table = table(true);
        for pid in 0..2000_i16 {
            let now = f64::from(pid);
            record(&mut table, now, 9999, now, 1.0);
            record(&mut table, now, pid.into(), 1.0, 1.0);
        }
        assert_eq!((table.members, table.left_out()), (MAX_MEMBERS, 0));
        assert_eq!(table.describe_points(1999.0)[0], "time{program=lmp} 3999");
    }

    #[test]
    fn unknown_values_have_no_point() {
        let mut table = table(false);
        let row = json!({"program": "lmp", "pid": 1, "time": null, "rss": "much"});
        table.record(Kind::Row, 0, row.as_object().unwrap(), 0.0);
        assert!(table.describe_points(0.0).is_empty());
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
