// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that an app that depends on Stratus does not fetch what only its
// developers need.
let package = Package(
    name: "stratus-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "stratus", path: "..")
    ],
    targets: [
        .executableTarget(
            name: "JSONBenchmark",
            dependencies: [
                .product(name: "StratusRecords", package: "stratus"),
                .product(name: "StratusWire", package: "stratus"),
            ]),
        .executableTarget(
            name: "QueryBenchmark",
            dependencies: [
                .product(name: "StratusRecords", package: "stratus"),
                .product(name: "StratusService", package: "stratus"),
                .product(name: "StratusStorage", package: "stratus"),
                .product(name: "StratusWire", package: "stratus"),
            ]),
        .executableTarget(
            name: "FairnessBenchmark",
            dependencies: [
                .product(name: "StratusRecords", package: "stratus"),
                .product(name: "StratusService", package: "stratus"),
                .product(name: "StratusStorage", package: "stratus"),
                .product(name: "StratusWire", package: "stratus"),
            ]),
        .executableTarget(
            name: "ChangesBenchmark",
            dependencies: [
                .product(name: "StratusRecords", package: "stratus"),
                .product(name: "StratusService", package: "stratus"),
                .product(name: "StratusStorage", package: "stratus"),
                .product(name: "StratusWire", package: "stratus"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
