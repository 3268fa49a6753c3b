// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "sharing-example",
    dependencies: [
        // In a package of your own, by its address:
        //   .package(url: "https://git.example.org/stratus.git", from: "0.1.0")
        .package(name: "stratus", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "sharing-example",
            dependencies: [
                .product(name: "CloudKit", package: "stratus")
            ],
            path: "Sources")
    ])
