import Testing

/// A package that depends on Stratus alone neither fetches nor builds swift-syntax.
@Suite struct MacroPackageTests {
    @Test func onlyTheMacroPackageNamesSwiftSyntax() throws {
        let package = try Repository.text("Package.swift")
        #expect(!package.contains("swift-syntax"))
        #expect(!package.contains("CompilerPluginSupport"))
        #expect(!package.contains("Macros"))
        let macros = try Repository.text("Macros/Package.swift")
        #expect(macros.contains("swift-syntax\", exact: \"603.0.1\""))
        let using = (Repository.sources + Repository.tests).filter {
            $0.code.contains { $0.text == "SwiftSyntax" }
        }
        #expect(using.map(\.path).isEmpty)
    }
}
