// swift-tools-version: 6.2
import PackageDescription

let algorithms = Target.Dependency.product(name: "Algorithms", package: "swift-algorithms")
let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(
    name: "AsyncHTTPClient", package: "async-http-client")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let orderedCollections = Target.Dependency.product(
    name: "OrderedCollections", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(
    name: "HummingbirdTesting", package: "hummingbird")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let inMemoryTracing = Target.Dependency.product(
    name: "InMemoryTracing", package: "swift-distributed-tracing")
let unixSignals = Target.Dependency.product(
    name: "UnixSignals", package: "swift-service-lifecycle")
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let inMemoryLogging = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(
    name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioHTTPTypesHTTP2 = Target.Dependency.product(
    name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")

let package = Package(
    name: "stratus",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "StratusClient", targets: ["StratusClient"]),
        .library(name: "StratusSync", targets: ["StratusSync"]),
        .library(name: "StratusSyncEngine", targets: ["StratusSyncEngine"]),
        .library(name: "StratusCache", targets: ["StratusCache"]),
        // Their public interfaces use types of StratusRuntime, and that of the service also types of StratusSchema.
        .library(
            name: "StratusService", targets: ["StratusService", "StratusRuntime", "StratusSchema"]),
        .library(name: "StratusStorage", targets: ["StratusStorage", "StratusRuntime"]),
        .library(name: "StratusMapping", targets: ["StratusMapping"]),
        .library(name: "StratusRecords", targets: ["StratusRecords"]),
        .library(name: "StratusWire", targets: ["StratusWire"]),
        .library(name: "StratusTesting", targets: ["StratusTesting"]),
        .library(name: "StratusSimulation", targets: ["StratusSimulation"]),
        .executable(name: "stratus-sim", targets: ["stratus-sim"]),
        .executable(name: "stratus", targets: ["stratus"]),
        .executable(name: "stratus-cache", targets: ["stratus-cache"]),
        .executable(name: "stratus-login", targets: ["stratus-login"]),
        .executable(name: "shopping", targets: ["shopping"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-algorithms", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
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
        // Shared by both sides: time and randomness, plain values, the protocol, and the meaning of queries.
        .target(name: "StratusRuntime", path: "Sources/Shared/Runtime"),
        .target(name: "StratusRecords", path: "Sources/Shared/Records"),
        .target(
            name: "StratusWire",
            dependencies: ["StratusRecords"],
            path: "Sources/Shared/Wire"),
        .target(
            name: "StratusMatching",
            dependencies: ["StratusRecords", "StratusWire"],
            path: "Sources/Shared/Matching"),
        // How the service and the cache open a database and migrate it.
        .target(
            name: "StratusSQLite", dependencies: [grdb, grdbSQLite], path: "Sources/Shared/SQLite"),

        // The server.
        .target(name: "CStorage", path: "Sources/Server/CStorage"),
        .target(
            name: "StratusStorage",
            dependencies: [
                "CStorage", "StratusRecords", "StratusRuntime", "StratusSQLite", grdb, grdbSQLite,
                logging, metrics,
            ],
            path: "Sources/Server/Storage"),
        .target(
            name: "StratusSchema",
            dependencies: ["StratusRecords", "StratusRuntime", "StratusStorage"],
            path: "Sources/Server/Schema",
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusQuery",
            dependencies: [
                "StratusMatching", "StratusRecords", "StratusRuntime", "StratusSchema",
                "StratusStorage", "StratusWire", algorithms, heap, logging,
            ],
            path: "Sources/Server/Query",
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusService",
            dependencies: [
                "StratusMatching", "StratusQuery", "StratusRecords", "StratusRuntime",
                "StratusSchema", "StratusStorage", "StratusWire", algorithms, crypto, cryptoExtras,
                deque, heap, jwtKit, logging,
            ],
            path: "Sources/Server/Service",
            exclude: ["DESIGN.md"]),
        .target(
            name: "CZlib", path: "Sources/Server/CZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(
            name: "StratusServer",
            dependencies: [
                "CZlib", "StratusRecords", "StratusRuntime", "StratusService", "StratusWire",
                asyncHTTPClient, crypto, httpTypes, hummingbird, hummingbirdCore,
                jwtKit, lifecycle, logging, metrics, mustache,
                nio, nioHTTP, nioHTTP2, nioHTTPTypes, nioHTTPTypesHTTP1, nioHTTPTypesHTTP2, nioSSL,
                nioTLS,
            ],
            path: "Sources/Server/Server"),
        .executableTarget(
            name: "stratus",
            dependencies: [
                "StratusRecords", "StratusRuntime", "StratusSchema", "StratusServer",
                "StratusService", "StratusStorage", argumentParser, hummingbird, lifecycle, logging,
                metrics, nio, unixSignals,
            ],
            path: "Sources/Server/stratus"),

        // The device.
        .target(
            name: "StratusClient",
            dependencies: [
                "StratusMatching", "StratusRecords", "StratusRuntime", "StratusWire",
                algorithms, asyncHTTPClient, crypto, logging, nio, nioHTTP, nioPosix, nioSSL,
            ],
            path: "Sources/Device/Client"),
        .target(
            name: "StratusSync",
            dependencies: ["StratusRecords"],
            path: "Sources/Device/Sync",
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusSyncEngine",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusRuntime", "StratusSync",
                orderedCollections,
            ],
            path: "Sources/Device/SyncEngine",
            exclude: ["DESIGN.md"]),
        .target(
            name: "StratusCache",
            dependencies: [
                "StratusClient", "StratusMatching", "StratusRecords", "StratusRuntime",
                "StratusSQLite", "StratusSync", "StratusSyncEngine", "StratusWire", algorithms,
                crypto, grdb, grdbSQLite, logging, tracing,
            ],
            path: "Sources/Device/Cache",
            exclude: ["DESIGN.md"]),
        // A command that inspects the file of a cache.
        .executableTarget(
            name: "stratus-cache",
            dependencies: ["StratusCache", "StratusRuntime", argumentParser],
            path: "Sources/Device/stratus-cache"),
        // A command that signs in, for scripts.
        .executableTarget(
            name: "stratus-login",
            dependencies: ["StratusClient", "StratusRuntime", argumentParser],
            path: "Sources/Device/stratus-login"),
        .target(
            name: "StratusMapping",
            dependencies: [
                "StratusCache", "StratusClient", "StratusRecords", "StratusRuntime", algorithms,
                crypto, logging,
            ],
            path: "Sources/Device/Mapping"),
        .target(
            name: "StratusTesting",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusRuntime", "StratusService",
                "StratusStorage", "StratusWire",
            ],
            path: "Sources/Testing"),
        // A VFS for SQLite whose files lose writes, tear them and fail.
        .target(
            name: "FaultFiles", dependencies: [grdbSQLite], path: "Sources/Simulation/FaultFiles"),
        // Simulated worlds from seeds, in which the promises of service and cache are checked.
        .target(
            name: "StratusSimulation",
            dependencies: [
                "FaultFiles", "StratusCache", "StratusClient", "StratusMapping", "StratusRecords",
                "StratusRuntime",
                "StratusService", "StratusStorage", "StratusSync", "StratusSyncEngine",
                "StratusTesting", "StratusWire", algorithms,
            ],
            path: "Sources/Simulation/Worlds"),
        .executableTarget(
            name: "stratus-sim",
            dependencies: ["StratusRuntime", "StratusSimulation", argumentParser, logging],
            path: "Sources/Simulation/stratus-sim"),

        // The apps.
        .target(
            name: "ShoppingCore",
            dependencies: ["StratusCache", "StratusClient", "StratusSync", grdb],
            path: "Apps/Shopping/Core",
            exclude: ["DESIGN.md"],
            resources: [.embedInCode("Catalogue.tsv")]),
        // The shopping lists in a browser on the same machine.
        .target(
            name: "ShoppingWeb",
            dependencies: [
                "ShoppingCore", "StratusCache", "StratusClient", "StratusRecords", "StratusRuntime",
                crypto, httpTypes, hummingbird, lifecycle, logging, nio,
            ],
            path: "Apps/Shopping/Web",
            resources: [
                .embedInCode("Page/demo.css"), .embedInCode("Page/demo.html"),
                .embedInCode("Page/demo.js"),
                .embedInCode("Page/elements.js"), .embedInCode("Page/icon.svg"),
                .embedInCode("Page/list.html"), .embedInCode("Page/page.js"),
                .embedInCode("Page/pictures.js"),
                .embedInCode("Page/rows.js"), .embedInCode("Page/service.js"),
                .embedInCode("Page/sheets.js"), .embedInCode("Page/style.css"),
            ]),
        .executableTarget(
            name: "shopping",
            dependencies: [
                "AppDevice", "ShoppingCore", "ShoppingWeb", "StratusCache", "StratusClient",
                "StratusRuntime", "StratusTesting", argumentParser, lifecycle, logging,
            ],
            path: "Apps/Shopping/Terminal"),
        // What the terminal apps share: account, folder, log and output.
        .target(
            name: "AppDevice",
            dependencies: ["StratusClient", "StratusRecords", "StratusRuntime", crypto, logging],
            path: "Apps/Device"),

        // The example of Documentation/OfflineFirst.md; JourneyTests run it on three devices.
        .executableTarget(
            name: "offline-notes", dependencies: ["StratusCache", "StratusClient", grdb],
            path: "Apps/OfflineNotes"),

        // Measures how soon a change on one device is seen on another one; Scripts/bench starts it.
        .executableTarget(
            name: "sight",
            dependencies: [
                "ShoppingCore", "ShoppingWeb", "StratusCache", "StratusClient", "StratusSync",
            ],
            path: "Benchmarks/Sight"),
        // Measures a cache with many records: Scripts/bench cache.
        .executableTarget(
            name: "cache-bench",
            dependencies: [
                "StratusCache", "StratusClient", "StratusRecords", "StratusSync", "StratusWire",
                grdbSQLite,
            ],
            path: "Benchmarks/Cache"),

        // The tests.
        .testTarget(
            name: "StratusRuntimeTests", dependencies: ["StratusRuntime", "StratusTesting"],
            path: "Tests/Shared/RuntimeTests"),
        .testTarget(
            name: "StratusRecordsTests", dependencies: ["StratusRecords"],
            path: "Tests/Shared/RecordsTests"),
        .testTarget(
            name: "StratusSyncTests",
            dependencies: ["StratusRecords", "StratusSync"],
            path: "Tests/Device/SyncTests"),
        .testTarget(
            name: "StratusSyncEngineTests",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusService", "StratusSync",
                "StratusSyncEngine", "StratusTesting", "StratusWire", "TestServing",
            ],
            path: "Tests/Device/SyncEngineTests"),
        // A second process that opens a cache's file, for tests.
        .executableTarget(
            name: "cache-peer",
            dependencies: ["StratusCache", "StratusClient", "StratusRecords", "StratusSync"],
            path: "Tests/Device/CachePeer"),
        .testTarget(
            name: "StratusCacheTests",
            dependencies: [
                "cache-peer", "stratus-cache", "StratusCache", "StratusClient", "StratusRecords",
                "StratusRuntime", "StratusSchema", "StratusService", "StratusStorage",
                "StratusSync", "StratusSyncEngine", "StratusTesting",
                "StratusWire", "TestProcesses", "TestServing", grdb, inMemoryTracing, tracing,
            ],
            path: "Tests/Device/CacheTests"),
        .testTarget(
            name: "StratusSimulationTests",
            dependencies: [
                "StratusCache", "StratusClient", "StratusRecords", "StratusSimulation",
                "StratusSync", "StratusTesting", "StratusWire",
            ],
            path: "Tests/Simulation/WorldsTests"),
        .testTarget(
            name: "StratusTestingTests",
            dependencies: [
                "StratusCache", "StratusClient", "StratusRecords", "StratusService",
                "StratusTesting", "StratusWire",
            ],
            path: "Tests/Testing"),
        .testTarget(
            name: "StratusMappingTests",
            dependencies: [
                "StratusCache", "StratusClient", "StratusMapping", "StratusRecords",
                "StratusRuntime", "StratusSchema", "StratusService", "StratusTesting",
                "StratusWire", grdb, inMemoryLogging, logging,
            ],
            path: "Tests/Device/MappingTests"),
        .testTarget(
            name: "ShoppingTests",
            dependencies: [
                "ShoppingCore", "StratusCache", "StratusClient", "StratusRecords", "StratusRuntime",
                "StratusSchema", "StratusService", "StratusSync", "StratusTesting", "StratusWire",
                "AppDevice", "shopping", "TestProcesses",
            ],
            path: "Tests/Apps/ShoppingTests"),
        .testTarget(
            name: "ShoppingWebTests",
            dependencies: [
                "ShoppingCore", "ShoppingWeb", "StratusClient", "StratusTesting", "TestProcesses",
                asyncHTTPClient, nio, nioHTTP,
            ],
            path: "Tests/Apps/ShoppingWebTests"),
        .testTarget(
            name: "StratusServiceTests",
            dependencies: [
                "StratusMatching", "StratusQuery", "StratusRecords", "StratusRuntime",
                "StratusSchema",
                "StratusService", "StratusSQLite", "StratusStorage", "StratusTesting",
                "StratusWire",
                "TestProcesses", crypto, grdb, inMemoryLogging, jwtKit, logging,
            ],
            path: "Tests/Server/ServiceTests"),
        .testTarget(
            name: "StratusSchemaTests",
            dependencies: ["StratusRecords", "StratusSchema", "StratusTesting"],
            path: "Tests/Server/SchemaTests"),
        .testTarget(
            name: "StratusQueryTests",
            dependencies: [
                "StratusMatching", "StratusQuery", "StratusRecords", "StratusSchema",
                "StratusSQLite", "StratusStorage", "StratusTesting", "StratusWire",
                "TestProcesses", logging,
            ],
            path: "Tests/Server/QueryTests"),
        .testTarget(
            name: "StratusMatchingTests",
            dependencies: ["StratusMatching", "StratusRecords"],
            path: "Tests/Shared/MatchingTests"),
        .testTarget(
            name: "StratusServerTests",
            dependencies: [
                "StratusRecords", "StratusServer", "StratusService", "StratusStorage",
                "StratusTesting", "StratusWire", "TestProcesses", "TestServing", asyncHTTPClient,
                crypto, httpTypes, hummingbird, hummingbirdTesting, jwtKit, logging, nio, nioHPACK,
                nioHTTP2, nioPosix, nioSSL,
            ],
            path: "Tests/Server/ServerTests"),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "StratusClient", "StratusService", "StratusStorage", "StratusTesting",
                "TestServing",
            ],
            path: "Tests/Server/ConformanceTests"),
        .testTarget(
            name: "JourneyTests",
            dependencies: [
                "TestProcesses", "cache-peer", "offline-notes", "shopping", "stratus",
                "stratus-login", grdb,
            ]),
        .testTarget(
            name: "HostileTests",
            dependencies: ["TestProcesses", "stratus", nio, nioPosix, nioSSL],
            path: "Tests/HostileTests"),
        .testTarget(
            name: "StratusWireTests",
            dependencies: ["StratusRecords", "StratusWire"],
            path: "Tests/Shared/WireTests",
            resources: [.copy("Fixtures")]),
        .testTarget(
            name: "StratusStorageTests",
            dependencies: [
                "CStorage", "FaultFiles", "StratusRecords", "StratusRuntime", "StratusSQLite",
                "StratusStorage",
                "StratusTesting", "TestProcesses", grdb, inMemoryLogging, logging,
            ],
            path: "Tests/Server/StorageTests"),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "StratusCache", "StratusMapping", "StratusRecords", "StratusService",
                "StratusStorage", "StratusTesting", "StratusWire", "TestProcesses", grdb,
            ],
            path: "Tests/Documents/DocumentationTests"),
        // Only reads the texts of the repository.
        .testTarget(name: "TidyTests", path: "Tests/Documents/TidyTests"),
        // What tests of whole programs share: processes, plain connections, folders.
        .target(name: "TestProcesses", path: "Tests/Shared/Processes"),
        // A server in the process of the tests, on a free port.
        .target(
            name: "TestServing",
            dependencies: [
                "StratusRecords", "StratusServer", "StratusService", "StratusStorage", hummingbird,
                logging,
            ],
            path: "Tests/Server/Serving"),
        // The seeds of property tests, which every tests target may use.
        .target(name: "TestSeeds", path: "Tests/Shared/Seeds"),
        .testTarget(
            name: "StratusClientTests",
            dependencies: [
                "StratusClient", "StratusRecords", "StratusRuntime", "StratusServer",
                "StratusService", "StratusStorage", "StratusTesting", "StratusWire",
                "TestProcesses", "TestServing", asyncHTTPClient, httpTypes, hummingbird, logging,
                nio,
            ],
            path: "Tests/Device/ClientTests"),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

// Only for Scripts/docs: packages that depend on this one do not fetch the plugin.
if Context.environment["STRATUS_DOCUMENTATION"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

for target in package.targets where target.type == .test {
    target.dependencies.append("TestSeeds")
}

#if os(Linux)
    // Apple's platforms have the real CloudKit; there StratusClient is imported under its own name.
    package.products += [
        .executable(name: "notes", targets: ["notes"]),
        .library(name: "CloudKit", targets: ["CloudKit"]),
        // Only for code that imports it by name, because canImport(CoreLocation) is true for every target that is built
        // together with it.
        .library(name: "CoreLocation", targets: ["CoreLocation"]),
    ]
    package.targets += [
        .target(
            name: "CloudKit", dependencies: ["StratusClient", "StratusSync", "StratusSyncEngine"],
            path: "Sources/Device/CloudKit"),
        .target(
            name: "StratusLocation", dependencies: ["StratusMatching", "StratusRecords"],
            path: "Sources/Device/Location"),
        .target(
            name: "CoreLocation", dependencies: ["StratusLocation"],
            path: "Sources/Device/CoreLocation"),
        // The code of the documents with which the project began, in Swift 5 and with `import CloudKit` alone.
        .executableTarget(
            name: "document-programs", dependencies: ["CloudKit"],
            path: "Tests/Documents/DocumentPrograms", swiftSettings: [.swiftLanguageMode(.v5)]),
        // The demo project of Documentation/Mapping.md; JourneyTests run it on two devices.
        .executableTarget(
            name: "mapping-demo", dependencies: ["CloudKit", "StratusMapping"],
            path: "Tests/Documents/MappingDemo"),
        // The app to read first: its core only imports CloudKit, and the clock of StratusRuntime.
        .target(
            name: "NotesCore", dependencies: ["AppDevice", "StratusRuntime"],
            path: "Apps/Notes/Core"),
        .executableTarget(
            name: "notes",
            dependencies: ["AppDevice", "NotesCore", "StratusRuntime", argumentParser],
            path: "Apps/Notes/Terminal"),
        .testTarget(
            name: "NotesTests",
            dependencies: [
                "AppDevice", "CloudKit", "NotesCore", "StratusSchema",
                "StratusService", "StratusTesting", "StratusWire", "TestProcesses",
            ],
            path: "Tests/Apps/NotesTests"),
        // The files of the packages in Examples; Scripts/test-packages builds those packages unchanged.
        .executableTarget(
            name: "example-client", dependencies: ["CloudKit"], path: "Examples/Client/Sources"),
        .executableTarget(
            name: "example-cache", dependencies: ["CloudKit", "StratusCache"],
            path: "Examples/Cache/Sources"),
        .executableTarget(
            name: "example-sharing", dependencies: ["CloudKit"], path: "Examples/Sharing/Sources"),
        .testTarget(
            name: "ExampleTests",
            dependencies: ["CloudKit", "StratusCache", "StratusTesting", "StratusWire"],
            path: "Examples/Testing/Tests"),
        // Calls as they are in the code of other projects, in Swift 5.
        .testTarget(
            name: "ForeignCodeTests", dependencies: ["CloudKit", "StratusTesting"],
            path: "Tests/ForeignCode", swiftSettings: [.swiftLanguageMode(.v5)]),
        // The app of the article "Testing CloudKit code in CI"; its tests are DocumentationTests.
        .target(name: "Huts", dependencies: ["CloudKit"], path: "Tests/Documents/Huts"),
        .target(
            name: "CSimdjson", path: "Sources/Shared/CSimdjson",
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
        target.dependencies += ["document-programs", "mapping-demo", "notes"]
    }
    for target in package.targets where target.name.hasPrefix("StratusClient") {
        target.dependencies.append("StratusLocation")
    }
    // simdjson comes from the system (Debian: libsimdjson-dev). Elsewhere StratusWire uses its own parser.
    for target in package.targets where target.name == "StratusWire" {
        target.dependencies.append("CSimdjson")
    }
#endif
