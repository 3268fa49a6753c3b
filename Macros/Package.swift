// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// A package of its own, so that a package that depends only on Stratus neither fetches nor builds swift-syntax.
// `Scripts/test-packages` builds and tests it.
let package = Package(
    name: "stratus-macros",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "StratusMacros", targets: ["StratusMacros"])
    ],
    dependencies: [
        .package(name: "stratus", path: ".."),
        .package(url: "https://github.com/swiftlang/swift-syntax", exact: "603.0.1"),
    ],
    targets: [
        .macro(
            name: "StratusMacrosPlugin",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftDiagnostics", package: "swift-syntax"),
                .product(name: "SwiftSyntax", package: "swift-syntax"),
                .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]),
        .target(
            name: "StratusMacros",
            dependencies: [
                "StratusMacrosPlugin", .product(name: "StratusMapping", package: "stratus"),
            ]),
        .testTarget(
            name: "StratusMacrosTests",
            dependencies: [
                "StratusMacros", "StratusMacrosPlugin",
                .product(name: "StratusTesting", package: "stratus"),
                .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// Only for Scripts/docs, as in the package of Stratus.
if Context.environment["STRATUS_DOCUMENTATION"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
