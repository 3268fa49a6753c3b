import StratusRecords
import StratusStorage
import StratusWire

extension TokensRegister: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: false,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    /// Accepts tokens of ``StratusWire/TokensCreate``, for any container, and, where notifications can be sent to
    /// Apple's push service, the tokens that it gave a device: hexadecimal or base64.
    ///
    /// A device's token belongs to the user who registered it last in a container, since devices change hands.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        let environment = try pushEnvironment(request.apnsEnvironment, of: request.clientID)
        let user = try context.user()
        let rows = try await components.directory.devices(pushToken: request.apnsToken)
        var device: DeviceRow
        if let known = rows.first(where: { $0.channel == .courier }) {
            guard known.userRecordName == user else { throw ServiceError.unknownPushToken }
            device = rows.first { $0.address == context.address } ?? known
            device.address = context.address
            device.clientID = request.clientID ?? device.clientID
        } else {
            guard components.settings.pushDelivery != nil,
                let token = NativeToken(request.apnsToken)
            else { throw ServiceError.unknownPushToken }
            device = DeviceRow(
                pushToken: token.text, address: context.address, userRecordName: user,
                clientID: request.clientID ?? context.caller.device, lastUsedMilliseconds: 0,
                isRegistered: true,
                channel: environment == .production ? .apnsProduction : .apnsDevelopment)
        }
        device.isRegistered = true
        device.lastUsedMilliseconds = context.nowMilliseconds
        try await components.devices.put(device)
        return Answer()
    }
}

/// A device's token of Apple's push service, as hexadecimal digits.
struct NativeToken {
    var text: String

    /// Bytes that a token may have: today's have 32, and Apple advises not to rely on that.
    private static let sizeBytes = 32...100

    /// - Returns: nil when the text is neither hexadecimal nor base64 of such a token.
    init?(_ text: String) {
        if Self.sizeBytes.contains(text.utf8.count / 2), text.utf8.count.isMultiple(of: 2),
            text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
        {
            self.text = text.lowercased()
            return
        }
        guard text.utf8.count <= 2 * Self.sizeBytes.upperBound, let bytes = Base64.bytes(text),
            Self.sizeBytes.contains(bytes.count)
        else { return nil }
        self.text = ServiceSettings.hexadecimal(bytes)
    }
}
