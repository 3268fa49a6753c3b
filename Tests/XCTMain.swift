import Testing

/// Starts the tests. Without a file of this name SwiftPM searches the compiler's index for XCTest tests, of which
/// there are none, and creating that index takes a sixth of a build's time.
@main struct TestProgram {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
