import Crypto
import Foundation
import StratusRecords

/// At which service, and for which app, somebody is signed in.
public struct CloudSignInPlace: Hashable, Sendable {
    /// The service's address, such as `https://cloud.example.org`.
    public var service: String
    /// The app's own token there: it belongs to a container and an environment.
    public var apiToken: String
    public var environment: ContainerEnvironment

    public init(service: String, apiToken: String, environment: ContainerEnvironment) {
        self.service = service
        self.apiToken = apiToken
        self.environment = environment
    }

    /// What names its file. The token is not written there: file names are seen by many.
    var fileNameParts: [String] {
        let digest = SHA256.hash(data: Data(apiToken.utf8)).prefix(8)
        return [
            service, environment.rawValue,
            digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
        ]
    }
}

/// A sign-in that outlives the process: whose it is, and the token that is sent next.
public struct KeptSignIn: Hashable, Sendable {
    /// Chosen anew at each sign-in: the tokens of an earlier one are not kept in its place.
    public var id: String
    /// The user's record name.
    public var userRecordName: String
    /// A secret: whoever has it is the user.
    public var webAuthToken: String

    public init(id: String, userRecordName: String, webAuthToken: String) {
        self.id = id
        self.userRecordName = userRecordName
        self.webAuthToken = webAuthToken
    }

    var bytes: [UInt8] { Array("\(id)\n\(userRecordName)\n\(webAuthToken)\n".utf8) }

    init?(bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        guard lines.count == 3 else { return nil }
        self.init(id: lines[0], userRecordName: lines[1], webAuthToken: lines[2])
    }
}
