// swift-tools-version: 6.2
import PackageDescription

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(
    name: "AsyncHTTPClient", package: "async-http-client")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let hashTrees = Target.Dependency.product(
    name: "HashTreeCollections", package: "swift-collections")
let orderedCollections = Target.Dependency.product(
    name: "OrderedCollections", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(
    name: "HummingbirdTesting", package: "hummingbird")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")

let package = Package(
    name: "stratus",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "StratusClient", targets: ["StratusClient"]),
        .library(name: "StratusSync", targets: ["StratusSync"]),
        .library(name: "StratusCache", targets: ["StratusCache"]),
        .library(name: "StratusService", targets: ["StratusService"]),
        .library(name: "StratusStorage", targets: ["StratusStorage"]),
        .library(name: "StratusMapping", targets: ["StratusMapping"]),
        .library(name: "StratusRecords", targets: ["StratusRecords"]),
        .library(name: "StratusWire", targets: ["StratusWire"]),
        .library(name: "StratusTesting", targets: ["StratusTesting"]),
        .executable(name: "stratus", targets: ["stratus"]),
        .executable(name: "shopping", targets: ["shopping"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.45.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
    ],
    targets: [
        // Both sides: plain values, then the protocol.
        .target(name: "StratusRecords"),
        .target(
            name: "StratusWire",
            dependencies: ["StratusRecords"]),

        // The server.
        .target(
            name: "StratusStorage",
            dependencies: ["StratusRecords", grdb, grdbSQLite, hashTrees]),
        .target(
            name: "StratusService",
            dependencies: [
                "StratusRecords", "StratusStorage", "StratusWire", crypto, cryptoExtras, heap,
                jwtKit, logging,
            ],
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusServer",
            dependencies: [
                "StratusRecords", "StratusService", "StratusWire", asyncHTTPClient, crypto,
                httpTypes,
                hummingbird, hummingbirdCore, hummingbirdTLS, jwtKit, lifecycle, logging, mustache,
                nio, nioHTTP, nioSSL,
            ]),
        .executableTarget(
            name: "stratus",
            dependencies: [
                "StratusRecords", "StratusServer", "StratusService", "StratusStorage",
                argumentParser, hummingbird, lifecycle, logging, nio,
            ]),

        // The device.
        .target(
            name: "StratusClient",
            dependencies: [
                "StratusRecords", "StratusWire", asyncHTTPClient, crypto, logging, nio, nioHTTP,
                nioPosix, nioSSL,
            ]),
        .target(
            name: "StratusSync",
            dependencies: ["StratusClient", "StratusRecords", orderedCollections],
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusCache",
            dependencies: ["StratusClient", "StratusRecords", "StratusSync", grdb],
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusMapping",
            dependencies: ["StratusCache"]),
        .target(
            name: "StratusTesting",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusService", "StratusStorage",
                "StratusWire",
            ]),

        // The apps.
        .target(
            name: "ShoppingCore",
            dependencies: ["StratusCache", "StratusClient", "StratusSync"],
            path: "Apps/Shopping/Core",
            exclude: ["DESIGN.md"],
            resources: [.embedInCode("Catalogue.tsv")]),
        .executableTarget(
            name: "shopping",
            dependencies: [
                "ShoppingCore", "StratusCache", "StratusClient", argumentParser,
            ],
            path: "Apps/Shopping/Terminal"),

        // The proofs.
        .testTarget(name: "StratusRecordsTests", dependencies: ["StratusRecords"]),
        .testTarget(
            name: "StratusSyncTests",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusServer", "StratusService",
                "StratusSync", "StratusTesting", "StratusWire", logging,
            ]),
        .testTarget(
            name: "StratusCacheTests",
            dependencies: [
                "StratusCache", "StratusClient", "StratusRecords", "StratusSync", "StratusTesting",
                grdb,
            ]),
        .testTarget(
            name: "ShoppingTests",
            dependencies: [
                "ShoppingCore", "StratusCache", "StratusClient", "StratusSync", "StratusTesting",
                "shopping",
            ]),
        .testTarget(
            name: "StratusServiceTests",
            dependencies: [
                "StratusRecords", "StratusService", "StratusStorage", "StratusWire", crypto,
                jwtKit,
            ]),
        .testTarget(
            name: "StratusServerTests",
            dependencies: [
                "StratusRecords", "StratusServer", "StratusService", "StratusStorage",
                "StratusWire", asyncHTTPClient, crypto, httpTypes, hummingbird,
                hummingbirdTesting, jwtKit, logging, nio, nioHPACK, nioHTTP2, nioPosix, nioSSL,
            ]),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "StratusClient", "StratusServer", "StratusService", "StratusStorage",
                "StratusTesting", hummingbird, logging,
            ]),
        .testTarget(name: "JourneyTests", dependencies: ["stratus"]),
        .testTarget(
            name: "StratusWireTests",
            dependencies: ["StratusRecords", "StratusWire"],
            resources: [.copy("Fixtures")]),
        .testTarget(
            name: "StratusStorageTests",
            dependencies: ["StratusRecords", "StratusStorage", "StratusTesting", grdb]),
        .testTarget(
            name: "DocumentationTests",
            dependencies: ["StratusCache", "StratusTesting", "StratusWire"]),
        .testTarget(
            name: "StratusClientTests",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusServer", "StratusService",
                "StratusStorage", "StratusTesting", "StratusWire", httpTypes, hummingbird, logging,
            ]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

#if os(Linux)
    // Apple's platforms have the real CloudKit; there StratusClient is imported under its own name.
    package.products.append(.library(name: "CloudKit", targets: ["CloudKit"]))
    package.targets += [
        .target(name: "CloudKit", dependencies: ["StratusClient", "StratusSync"]),
        .target(name: "CoreLocation"),
        // What the founding documents show, in the manner of their time: only `import CloudKit`.
        .executableTarget(
            name: "document-programs", dependencies: ["CloudKit"],
            path: "Tests/Documents/DocumentPrograms", swiftSettings: [.swiftLanguageMode(.v5)]),
        // The app of the article "Testing CloudKit code in CI"; its tests are DocumentationTests.
        .target(name: "Huts", dependencies: ["CloudKit"], path: "Tests/Documents/Huts"),
        .target(
            name: "CSimdjson",
            linkerSettings: [.linkedLibrary("simdjson")]),
    ]
    for target in package.targets
    where target.path?.hasPrefix("Apps/") == true || target.name == "DocumentationTests" {
        target.dependencies.append("CloudKit")
    }
    for target in package.targets where target.name == "DocumentationTests" {
        target.dependencies.append("Huts")
    }
    for target in package.targets where target.name == "JourneyTests" {
        target.dependencies.append("document-programs")
    }
    for target in package.targets where target.name.hasPrefix("StratusClient") {
        target.dependencies.append("CoreLocation")
    }
    // simdjson comes from the system (Debian: libsimdjson-dev). Elsewhere a parser in Swift
    // does the same behind the same face.
    for target in package.targets where target.name == "StratusWire" {
        target.dependencies.append("CSimdjson")
    }
#endif

// The wings in the tree, and the folder of each module.
let folders: [String: String] = [
    "CSimdjson": "Sources/Shared/CSimdjson",
    "CloudKit": "Sources/Device/CloudKit",
    "ConformanceTests": "Tests/Server/ConformanceTests",
    "CoreLocation": "Sources/Device/CoreLocation",
    "DocumentationTests": "Tests/Documents/DocumentationTests",
    "ShoppingTests": "Tests/Apps/ShoppingTests",
    "StratusCache": "Sources/Device/Cache",
    "StratusCacheTests": "Tests/Device/CacheTests",
    "StratusClient": "Sources/Device/Client",
    "StratusClientTests": "Tests/Device/ClientTests",
    "StratusMapping": "Sources/Device/Mapping",
    "StratusRecords": "Sources/Shared/Records",
    "StratusRecordsTests": "Tests/Shared/RecordsTests",
    "StratusServer": "Sources/Server/Server",
    "StratusServerTests": "Tests/Server/ServerTests",
    "StratusService": "Sources/Server/Service",
    "StratusServiceTests": "Tests/Server/ServiceTests",
    "StratusStorage": "Sources/Server/Storage",
    "StratusStorageTests": "Tests/Server/StorageTests",
    "StratusSync": "Sources/Device/Sync",
    "StratusSyncTests": "Tests/Device/SyncTests",
    "StratusTesting": "Sources/Testing",
    "StratusWire": "Sources/Shared/Wire",
    "StratusWireTests": "Tests/Shared/WireTests",
    "stratus": "Sources/Server/stratus",
]
for target in package.targets {
    if let folder = folders[target.name] { target.path = folder }
}
