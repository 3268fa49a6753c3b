import Crypto
import Foundation
import StratusRecords

/// The service and app of a sign-in.
public struct CloudSignInPlace: Hashable, Sendable {
    /// The service's address, such as `https://cloud.example.org`.
    public var service: String
    /// The app's API token, which belongs to a container and an environment.
    public var apiToken: String
    /// The environment in which the user is signed in.
    public var environment: ContainerEnvironment

    /// Makes the place of a sign-in.
    public init(service: String, apiToken: String, environment: ContainerEnvironment) {
        self.service = service
        self.apiToken = apiToken
        self.environment = environment
    }

    /// The parts of its file's name. They do not contain the token, because file names are not
    /// secret.
    var fileNameParts: [String] {
        let digest = SHA256.hash(data: Data(apiToken.utf8)).prefix(8)
        return [service, environment.rawValue, Hexadecimal.text(digest)]
    }
}

/// A sign-in stored between processes: its user, and the token to send next.
public struct KeptSignIn: Hashable, Sendable {
    /// A new identifier for each sign-in, so that a token of an earlier one does not replace its
    /// token.
    public var id: String
    /// The user's record name.
    public var userRecordName: String
    /// The token, a secret: anyone who has it can act as the user.
    public var webAuthToken: String

    /// Makes a sign-in to store. ``FileKeyStore`` needs each value to be one line that is not empty.
    public init(id: String, userRecordName: String, webAuthToken: String) {
        self.id = id
        self.userRecordName = userRecordName
        self.webAuthToken = webAuthToken
    }

    /// A line for each value, and one for their checksum; nil if a value is empty or has several lines.
    var bytes: [UInt8]? {
        let values = [id, userRecordName, webAuthToken]
        guard values.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(Self.lineFeed) }) else {
            return nil
        }
        return Array((values + [Self.checksum(of: values)]).map { $0 + "\n" }.joined().utf8)
    }

    /// Reads ``bytes``, or the lines of format 1, which has no checksum; nil if they are damaged.
    init?(bytes: [UInt8], hasChecksum: Bool) {
        let parts = bytes.split(separator: Self.lineFeed, omittingEmptySubsequences: false)
        let lines = parts.compactMap { String(bytes: $0, encoding: .utf8) }
        let values = Array(lines.prefix(3))
        let rest = Array(lines.dropFirst(3))
        guard lines.count == parts.count, values.allSatisfy({ !$0.isEmpty }),
            rest == (hasChecksum ? [Self.checksum(of: values), ""] : [""])
        else { return nil }
        self.init(id: values[0], userRecordName: values[1], webAuthToken: values[2])
    }

    private static let lineFeed = UInt8(ascii: "\n")

    private static func checksum(of values: [String]) -> String {
        let text = values.joined(separator: "\n")
        return Hexadecimal.text(SHA256.hash(data: Data(text.utf8)).prefix(8))
    }
}

/// The account that a key belongs to: a user in one environment of one container.
public struct CloudKeyAccount: Hashable, Sendable {
    /// The container's identifier, such as `iCloud.org.example.Trails`.
    public var container: String
    /// The environment of the container; each has its own key.
    public var environment: ContainerEnvironment
    /// The user's record name.
    public var user: String

    /// Makes the account of a user in one environment of a container.
    public init(container: String, environment: ContainerEnvironment, user: String) {
        self.container = container
        self.environment = environment
        self.user = user
    }
}
