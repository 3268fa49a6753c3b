import Foundation
import StratusRecords
import Testing

@Suite struct PercentEncodingTests {
    @Test func bytesThatAreNotKeptAreEncoded() {
        #expect(PercentEncoding.text("") == "")
        #expect(PercentEncoding.text("aZ09-._~") == "aZ09-._~")
        #expect(PercentEncoding.text("a b/%+ü") == "a%20b%2F%25%2B%C3%BC")
        #expect(PercentEncoding.text("a-b", keeping: PercentEncoding.isAlphanumeric) == "a%2Db")
    }

    @Test func textIsThatOfFoundation() {
        let text = (UInt32(0)..<0x180).compactMap { Unicode.Scalar($0).map(String.init) }.joined()
        let encoded = PercentEncoding.text(text, keeping: PercentEncoding.isAlphanumeric)
        #expect(encoded == text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        #expect(encoded.removingPercentEncoding == text)
    }
}
