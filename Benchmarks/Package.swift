// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that an app that depends on Stratus does not fetch what only its
// developers need.
let package = Package(
    name: "stratus-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "stratus", path: ".."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
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
            name: "TestCloudBenchmark",
            dependencies: [
                .product(name: "StratusClient", package: "stratus"),
                .product(name: "StratusRecords", package: "stratus"),
                .product(name: "StratusTesting", package: "stratus"),
            ]),
        // The service is the real one, in a process of its own.
        .executableTarget(
            name: "FetchBenchmark",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "StratusClient", package: "stratus"),
                .product(name: "stratus", package: "stratus"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
