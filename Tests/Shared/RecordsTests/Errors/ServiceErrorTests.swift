import StratusRecords
import Testing

@Suite struct ServiceErrorTests {
    /// The statuses of the protocol's error table.
    @Test(arguments: [
        ("ACCESS_DENIED", 403), ("ATOMIC_ERROR", 400), ("AUTHENTICATION_FAILED", 401),
        ("AUTHENTICATION_REQUIRED", 421), ("BAD_REQUEST", 400), ("CONFLICT", 409),
        ("EXISTS", 409), ("INTERNAL_ERROR", 500), ("NOT_FOUND", 404), ("QUOTA_EXCEEDED", 413),
        ("THROTTLED", 429), ("TRY_AGAIN_LATER", 503), ("VALIDATING_REFERENCE_ERROR", 412),
        ("ZONE_NOT_FOUND", 404),
    ])
    func errorCodeDeterminesHTTPStatus(_ code: String, _ status: Int) {
        #expect(ServiceError.Code(rawValue: code).httpStatus == status)
    }

    @Test func unknownErrorCodeHasStatusBadRequest() {
        #expect(ServiceError.Code(rawValue: "NEW_WORD").httpStatus == 400)
    }
}
