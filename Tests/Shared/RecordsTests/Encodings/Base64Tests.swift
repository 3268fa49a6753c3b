import Foundation
import StratusRecords
import TestSeeds
import Testing

@Suite struct Base64Tests {
    static let seeds = Seeds.forTest("Base64Tests", count: 2)

    /// The vectors of RFC 4648, section 10.
    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ])
    func rfc4648VectorsRoundTrip(_ plain: String, _ text: String) {
        #expect(Base64.text(Array(plain.utf8)) == text)
        #expect(Base64.bytes(text) == Array(plain.utf8))
        let address = text.replacingOccurrences(of: "=", with: "")
        #expect(Base64.addressText(Array(plain.utf8)) == address)
        #expect(Base64.bytes(addressText: address) == Array(plain.utf8))
    }

    @Test(arguments: seeds)
    func textEqualsFoundationsForRandomBytes(seed: UInt64) {
        var number = seed
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in
                number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: number >> 33)
            }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.text(bytes) == text, "seed \(seed)")
            #expect(Base64.bytes(text) == bytes, "seed \(seed)")
            let address = text.replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            #expect(Base64.addressText(bytes) == address, "seed \(seed)")
            #expect(Base64.bytes(addressText: address) == bytes, "seed \(seed)")
        }
    }

    @Test(arguments: ["Zg", "Zg=", "Z===", "Zg==Zg==", "Zm9v\n", "Zm-_", "Zm9vé", "Z"])
    func textThatIsNotBase64HasNoBytes(_ text: String) {
        #expect(Base64.bytes(text) == nil)
        #expect(Data(base64Encoded: text) == nil)
    }

    @Test func addressTextMayHavePaddingAndEitherAlphabet() {
        #expect(Base64.bytes(addressText: "-_8=") == [0xFB, 0xFF])
        #expect(Base64.bytes(addressText: "+/8") == [0xFB, 0xFF])
        #expect(Base64.bytes(addressText: "Z") == nil)
        // Foundation returns a byte for padding alone.
        #expect(Base64.bytes("====") == nil)
        #expect(Base64.bytes(addressText: "Zg==Zg") == nil)
    }
}
