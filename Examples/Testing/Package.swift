// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "testing-example",
    dependencies: [
        // In a package of your own, by its address:
        //   .package(url: "https://git.example.org/stratus.git", from: "0.1.0")
        .package(name: "stratus", path: "../..")
    ],
    targets: [
        .testTarget(
            name: "testing-example",
            dependencies: [
                .product(name: "CloudKit", package: "stratus"),
                .product(name: "StratusCache", package: "stratus"),
                .product(name: "StratusTesting", package: "stratus"),
                .product(name: "StratusWire", package: "stratus"),
            ],
            path: "Tests")
    ])
