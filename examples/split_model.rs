//! A model over two devices: the convolutions of a VGG on one, its head on the other.
//!
//! ```text
//! cargo run --release -p examples --example split_model
//! ```
//!
//! A network that does not fit on one device can be split like this: each part's weights are on their
//! own device, and only the activations between them move. This is the forward pass; `Trainer` needs
//! all parameters on one device. With a single device, it takes both parts, and the program says so.

#![allow(clippy::print_stdout)] // A program's result.

use backend::{
    Selected, Share,
    device::{self, Device},
};
use burn::tensor::{Distribution, Tensor};
use models::{Head, HeadConfig, Pass, Vgg, VggClassifier, VggClassifierConfig, VggConfig};

/// A network in two parts.
struct Split<'a> {
    backbone: Vgg<Selected>,
    head: Head<Selected>,
    of_head: &'a Device,
}

impl<'a> Split<'a> {
    fn new(network: &VggClassifierConfig, [of_backbone, of_head]: &'a [Device; 2]) -> Self {
        Self {
            backbone: network.features.init(0, of_backbone),
            head: network.head.init(0, of_head),
            of_head,
        }
    }

    /// - `images`: `[batch, channels, height, width]`, on the device of the backbone
    /// - returns logits: `[batch, classes]`, on the device of the head
    fn forward(&self, images: Tensor<Selected, 4>) -> Tensor<Selected, 2> {
        let pass = &mut Pass::evaluation();
        let features = self.backbone.forward(images, pass).flatten(1, 3);
        self.head.forward(features.to_device(self.of_head), pass)
    }
}

/// Two devices, or the one that there is.
fn two_devices() -> anyhow::Result<[Device; 2]> {
    let opened = [0, 1].map(|rank| device::open_for(Share { rank, of: 2 }));
    if let [Ok((first, first_name)), Ok((second, second_name))] = opened
        && first != second
    {
        println!("the backbone is on {first_name}, the head on {second_name}");
        return Ok([first, second]);
    }
    let [(device, name), (again, _)] = [device::open()?, device::open()?];
    println!("there is one device, which takes both parts: {name}");
    Ok([device, again])
}

fn main() -> anyhow::Result<()> {
    println!("largest difference to one device: {:e}", largest_difference()?);
    Ok(())
}

/// Between the logits of the network in two parts and in one.
fn largest_difference() -> anyhow::Result<f32> {
    let features = VggConfig::small();
    let head =
        HeadConfig { inputs: features.features(), hidden: vec![256], outputs: 10, dropout: 0.0 };
    let network = VggClassifierConfig { features, head };
    let devices = two_devices()?;
    let images = Tensor::random([8, 3, 32, 32], Distribution::Uniform(-1.0, 1.0), &devices[0]);

    let split = Split::new(&network, &devices).forward(images.clone());
    let whole = VggClassifier::new(
        network.features.init(0, &devices[0]),
        network.head.init(0, &devices[0]),
    );
    let whole = whole.forward(images, &mut Pass::evaluation());
    let difference = split.to_device(&devices[0]) - whole;
    Ok(difference.abs().max().into_scalar())
}

#[test]
fn two_parts_compute_what_one_does() {
    assert!(largest_difference().unwrap() < 1e-5);
}
