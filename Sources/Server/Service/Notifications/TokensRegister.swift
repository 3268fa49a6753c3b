import StratusRecords
import StratusStorage
import StratusWire

extension TokensRegister: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Accepts tokens of ``StratusWire/TokensCreate``, for any container, and, where notifications can be sent to
    /// Apple's push service, the tokens that it gave a device: hexadecimal or base64.
    ///
    /// A device's token belongs to the user who registered it last in a container, since devices change hands.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let environment = try pushEnvironment(
            call.request.apnsEnvironment, of: call.request.clientID)
        let user = try call.context.user()
        let rows = try await call.components.directory.devices(pushToken: call.request.apnsToken)
        var device: DeviceRow
        if let known = rows.first(where: { $0.channel == .courier }) {
            guard known.userRecordName == user else { throw ServiceError.unknownPushToken }
            device = rows.first { $0.address == call.context.address } ?? known
            device.address = call.context.address
            device.clientID = call.request.clientID ?? device.clientID
        } else {
            guard call.components.settings.pushDelivery != nil,
                let token = NativeToken(call.request.apnsToken)
            else { throw ServiceError.unknownPushToken }
            device = DeviceRow(
                pushToken: token.text, address: call.context.address, userRecordName: user,
                clientID: call.request.clientID ?? call.context.caller.device,
                lastUsedMilliseconds: 0,
                isRegistered: true,
                channel: environment == .production ? .apnsProduction : .apnsDevelopment)
        }
        device.isRegistered = true
        device.lastUsedMilliseconds = call.context.nowMilliseconds
        try await call.components.devices.put(device, ofSession: call.context.caller.session)
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
        self.text = Hexadecimal.text(bytes)
    }
}
