import StratusRecords

/// What a redirectURL carries from the refused request to the sign-in page and back: for which
/// container, environment and API token somebody signs in.
///
/// Format 1, before sealing: the byte 1, container, environment and API token as counted strings, the
/// origin of the page that asked as an optional string, and the time of issue in milliseconds since
/// 1970 as eight bytes. The text is base64 for addresses.
struct SignInRequest: Hashable, Sendable {
    var address: ContainerAddress
    var apiToken: String
    /// The Origin header of the refused request; nil where no browser asked.
    var origin: String?
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 1

    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(address.container)
        writer.write(address.environment.rawValue)
        writer.write(apiToken)
        writer.write(origin)
        writer.write(number: issuedMilliseconds)
        return Base64.addressText(signer.sealed(writer.bytes, for: .signInRequest))
    }

    init(
        address: ContainerAddress, apiToken: String, origin: String?, issuedMilliseconds: Int64
    ) {
        self.address = address
        self.apiToken = apiToken
        self.origin = origin
        self.issuedMilliseconds = issuedMilliseconds
    }

    /// Reads a request; nil when it is none of ours.
    init?(text: String, signer: TokenSigner) {
        guard let sealed = Base64.bytes(addressText: text),
            let bytes = signer.opened(sealed, for: .signInRequest)
        else { return nil }
        var reader = ByteReader(bytes)
        do {
            guard try reader.byte() == Self.format else { return nil }
            let container = try reader.string()
            guard let environment = ContainerEnvironment(rawValue: try reader.string()) else {
                return nil
            }
            address = ContainerAddress(container: container, environment: environment)
            apiToken = try reader.string()
            origin = try reader.optionalString()
            issuedMilliseconds = try reader.number()
        } catch {
            // Sealed by us yet malformed: a format of another version, which is as good as none.
            return nil
        }
    }
}

/// Shows that a form was filled in on a page of this service, in the browser that got the page.
///
/// The page's form has the sealed token, its cookie the secret in it: another site can neither read the
/// one nor set the other.
struct FormToken: Hashable {
    var secret: String
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        writer.write(secret)
        writer.write(number: issuedMilliseconds)
        return Base64.addressText(signer.sealed(writer.bytes, for: .formToken))
    }

    init(secret: String, issuedMilliseconds: Int64) {
        self.secret = secret
        self.issuedMilliseconds = issuedMilliseconds
    }

    init?(text: String, signer: TokenSigner) {
        guard let sealed = Base64.bytes(addressText: text),
            let bytes = signer.opened(sealed, for: .formToken)
        else { return nil }
        var reader = ByteReader(bytes)
        do {
            secret = try reader.string()
            issuedMilliseconds = try reader.number()
        } catch {
            // As above.
            return nil
        }
    }
}
