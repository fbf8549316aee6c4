//! Writes the numbers of the log. A timepoint consists mostly of numbers, and `core::fmt` takes
//! five times as long as this module for a number with two decimals.

/// Appends a whole number.
pub fn push(out: &mut Vec<u8>, number: u64) {
    // The largest `u64` has twenty digits.
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        // The remainder is less than 10 and fits in a byte.
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a number with two decimals. The text is the same as for `%.2f` in C, except for ties.
/// Negative numbers and NaN become 0.00, and numbers above 10^17 become 10^17.
pub fn push_decimal(out: &mut Vec<u8>, number: f64) {
    // The cast turns NaN into 0, and a number out of range into the nearest `u64`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let hundredths = ((number * 100.0).round() as u64).min(10_u64.pow(19));
    push(out, hundredths / 100);
    let rest = (hundredths % 100) as u8;
    out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
}

/// Appends a number in units of 10^-`digits`: 1500 with three digits is written as 1.500.
pub fn push_scaled(out: &mut Vec<u8>, number: u64, digits: u32) {
    let unit = 10_u64.pow(digits);
    push(out, number / unit);
    out.push(b'.');
    let rest = number % unit;
    for place in (0..digits).rev() {
        // A single digit fits in a byte.
        out.push(b'0' + (rest / 10_u64.pow(place) % 10) as u8);
    }
}

/// Converts a count to a floating-point number. A count above 2^53 loses its last digits, which is
/// not visible in a rate.
#[allow(clippy::cast_precision_loss)]
pub fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(number: f64) -> String {
        let mut out = Vec::new();
        push_decimal(&mut out, number);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nan_negative_and_tiny_numbers_are_zero() {
        for number in [f64::NAN, -0.0, -1.0, f64::NEG_INFINITY, 0.004] {
            assert_eq!(decimal(number), "0.00");
        }
        assert_eq!(decimal(f64::INFINITY), "100000000000000000.00");
    }

    #[test]
    fn a_scaled_number_has_all_its_decimals() {
        let mut out = Vec::new();
        push_scaled(&mut out, 1500, 3);
        out.push(b' ');
        push_scaled(&mut out, 7, 6);
        assert_eq!(out, b"1.500 0.000007");
    }

    proptest! {
        #[test]
        fn whole_numbers_agree_with_the_standard_library(number: u64) {
            let mut out = Vec::new();
            push(&mut out, number);
            prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }

        #[test]
        fn decimals_agree_with_the_standard_library_except_for_ties(number in 0.0..1e12_f64) {
            let read: f64 = decimal(number).parse().unwrap();
            prop_assert!(
                (read - number).abs() <= 0.005_000_1 + number * 1e-15,
                "{number} is written as {read}"
            );
        }
    }
}
