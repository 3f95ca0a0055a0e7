//! The labels of samples, each the place of its class among the names of classes.

use crate::DataError;

/// Checks that labels are those of so many classes, and fit in an `i32` on the device.
///
/// On a device a label out of range is a panic or, worse, none.
pub(crate) fn check_labels(labels: &[u32], classes: usize) -> Result<(), DataError> {
    let is_wrong = |label: u32| label as usize >= classes || i32::try_from(label).is_err();
    match labels.iter().enumerate().find(|&(_, &label)| is_wrong(label)) {
        Some((sample, &label)) => Err(DataError::LabelOutOfRange { sample, label, classes }),
        None => Ok(()),
    }
}

/// How many samples each class has.
///
/// - `labels`: each below the number of classes
pub fn count_labels(labels: &[u32], classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    counts
}

/// Labels that have their places among the names in `own`, which are some of a model's `classes`, as they are
/// among these.
pub(crate) fn relabelled(
    labels: &[u32],
    own: &[String],
    classes: &[String],
) -> Result<Vec<u32>, DataError> {
    let place = |class: &String| {
        let place = (0..).zip(classes).find(|(_, known)| *known == class);
        place.map(|(place, _)| place).ok_or_else(|| DataError::UnknownClass {
            class: class.clone(),
            classes: classes.to_vec(),
        })
    };
    let places = own.iter().map(place).collect::<Result<Vec<u32>, _>>()?;
    Ok(labels.iter().map(|&label| places[label as usize]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_other_classes_are_found_by_name() {
        let classes: Vec<String> = (0..20).map(|class| class.to_string()).collect();
        let own = ["7", "3"].map(str::to_owned);
        assert_eq!(relabelled(&[1, 0, 1], &own, &classes).unwrap(), [3, 7, 3]);
        let error = relabelled(&[0], &["cat".to_owned()], &classes).unwrap_err();
        assert_eq!(error.to_string(), "the model does not know the class `cat`");
        let help = error.help().unwrap();
        assert!(help.starts_with("the classes are `0`, `1`, "), "{help}");
        assert!(help.ends_with("`9`, and 10 more; move samples of others away"), "{help}");
    }
}
