import StratusRecords
import Testing

@Suite struct AddressTests {
    @Test(arguments: DatabaseScope.allCases)
    func scopeIsParsedFromItsPathSegment(_ scope: DatabaseScope) {
        #expect(DatabaseScope(pathSegment: scope.pathSegment) == scope)
    }

    @Test(arguments: ["", "Public", "PRIVATE", "default"])
    func unknownPathSegmentIsNoScope(_ word: String) {
        #expect(DatabaseScope(pathSegment: word) == nil)
    }

    /// The raw values of `CKDatabase.Scope`.
    @Test func scopeRawValuesMatchCloudKit() {
        #expect(DatabaseScope.allCases.map(\.rawValue) == [1, 2, 3])
    }
}
