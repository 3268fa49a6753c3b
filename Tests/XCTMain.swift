import Testing

/// Starts the tests. Without a file of this name SwiftPM looks for tests of XCTest, of which there are
/// none, in the compiler's index, and making that index takes a sixth of a build's time.
@main struct TestProgram {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
