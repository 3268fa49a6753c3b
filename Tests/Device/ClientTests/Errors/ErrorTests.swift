import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

@Suite struct ErrorTests {
    @Test func errorCodeRawValuesMatchCloudKit() {
        #expect(CKError.Code.allCases.map(\.rawValue) == Array(1...37))
        #expect(CKError.Code.missingEntitlement.rawValue == 8)
        #expect(CKError.Code.resultsTruncated.rawValue == 13)
        #expect(CKError.Code.serverRecordChanged.rawValue == 14)
        #expect(CKError.Code.incompatibleVersion.rawValue == 18)
        #expect(CKError.Code.userDeletedZone.rawValue == 28)
        #expect(CKError.Code.accountTemporarilyUnavailable.rawValue == 36)
    }

    @Test func errorMatchesPatternsAndBridgesToNSError() {
        let error: any Error = CKError(.zoneNotFound, userInfo: [CKErrorRetryAfterKey: 3.5])
        switch error {
        case CKError.unknownItem: Issue.record("another code")
        case CKError.zoneNotFound: break
        default: Issue.record("no code")
        }
        do { throw error } catch CKError.zoneNotFound {} catch { Issue.record("not caught") }
        #expect((error as? CKError)?.retryAfterSeconds == 3.5)
        #expect((error as NSError).domain == CKErrorDomain)
        #expect((error as NSError).code == 26)
        #expect(((error as NSError).userInfo[CKErrorRetryAfterKey] as? Double) == 3.5)
    }

    @Test func bridgedErrorIsCastToErrorOfFramework() throws {
        let plain = NSError(
            domain: CKErrorDomain, code: CKError.Code.requestRateLimited.rawValue,
            userInfo: [CKErrorRetryAfterKey: 3.5])
        let error = try #require(plain as? CKError)
        #expect(error.code == .requestRateLimited && error.retryAfterSeconds == 3.5)
        #expect(((plain as any Error) as? CKError)?.code == .requestRateLimited)
        do { throw plain } catch let error as CKError {
            #expect(error.code == .requestRateLimited)
        } catch { Issue.record("not caught") }
        #expect(CKError(_nsError: plain).retryAfterSeconds == 3.5)
        #expect(CKError(_nsError: plain)._nsError.code == 7)
        #expect((CKError(.zoneBusy) as NSError) as? CKError == CKError(.zoneBusy))

        let other = NSError(domain: NSCocoaErrorDomain, code: 7)
        #expect(other as? CKError == nil)
        #expect(NSError(domain: CKErrorDomain, code: 9_999) as? CKError == nil)
        let wrapped = CKError(_nsError: other)
        #expect(wrapped.code == .internalError)
        #expect((wrapped.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 7)
    }

    @Test func errorsWithEqualCodesAreEqual() {
        let errors: Set<CKError> = [
            CKError(.zoneBusy), CKError(.zoneBusy, userInfo: ["a": 1]), CKError(.unknownItem),
        ]
        #expect(errors.count == 2)
        #expect(errors.contains(CKError(.unknownItem)))
    }

    @Test(arguments: [
        (ServiceError.Code.accessDenied, CKError.Code.permissionFailure),
        (.atomicError, .batchRequestFailed), (.authenticationFailed, .notAuthenticated),
        (.authenticationRequired, .notAuthenticated), (.badRequest, .invalidArguments),
        (.changeTokenExpired, .changeTokenExpired), (.conflict, .serverRecordChanged),
        (.exists, .serverRecordChanged), (.internalError, .serverRejectedRequest),
        (.notFound, .unknownItem), (.quotaExceeded, .quotaExceeded),
        (.throttled, .requestRateLimited), (.tryAgainLater, .serviceUnavailable),
        (.uniqueFieldError, .constraintViolation),
        (.validatingReferenceError, .referenceViolation), (.zoneBusy, .zoneBusy),
        (.zoneNotFound, .zoneNotFound),
        (ServiceError.Code(rawValue: "NEVER_HEARD_OF"), .serverRejectedRequest),
    ])
    func serviceErrorCodeMapsToErrorCode(_ code: ServiceError.Code, _ expected: CKError.Code) async
    {
        let database = database { _, _ in
            RecordsLookup.Answer(records: [
                refused("a", ServiceError(code, "because", retryAfterSeconds: 2))
            ])
        }
        let error = await #expect(throws: CKError.self) {
            try await database.record(for: CKRecord.ID(recordName: "a"))
        }
        #expect(error?.code == expected)
        #expect(error?.retryAfterSeconds == 2)
        #expect(error?.localizedDescription.hasPrefix("because") == true)
    }

    @Test func frameworkCodeOverridesServiceCode() async {
        let database = database { _, _ in
            throw ServiceFailure(
                ServiceError(.badRequest, "too many", frameworkCode: .limitExceeded))
        }
        await #expect(throws: CKError(.limitExceeded)) {
            try await database.save(CKRecord(recordType: "Hut"))
        }
    }

    /// What the client adds to a reason depends on the codes, not on the reason's words.
    @Test(
        arguments: [
            (
                ServiceError(.badRequest, "any", stratusCode: .notInProductionSchema),
                "schema deploy"
            ),
            (
                ServiceError(.badRequest, "any.", stratusCode: .notInProductionSchema),
                "any: save one"
            ),
            (ServiceError(.badRequest, "Cannot create new type A in production schema"), nil),
            (ServiceError(.authenticationFailed, "any"), "STRATUS_API_TOKEN"),
            (ServiceError(.authenticationFailed, "any."), "any: the service does not accept"),
            (ServiceError(.authenticationFailed, "any", stratusCode: .signInRefused), nil),
            (ServiceError(.authenticationRequired, "any."), "STRATUS_WEB_AUTH_TOKEN"),
            (ServiceError(.authenticationRequired, "any", stratusCode: .signInRefused), nil),
        ] as [(ServiceError, String?)])
    func adviceDependsOnCodes(_ refusal: ServiceError, _ advice: String?) async {
        let database = database { _, _ in throw ServiceFailure(refusal) }
        let error = await #expect(throws: CKError.self) { try await database.allRecordZones() }
        let expected: CKError.Code =
            refusal.code == .badRequest ? .invalidArguments : .notAuthenticated
        #expect(error?.code == expected)
        if let advice {
            #expect(error?.localizedDescription.contains(advice) == true)
        } else {
            #expect(error?.localizedDescription == refusal.reason)
        }
    }

    /// The version reaches the sync layer, which sees the error as a ``FrameworkError``.
    @Test(arguments: [nil, 0, 7, -1] as [Int64?])
    func expiredChangeTokenTellsLastIntactVersion(_ version: Int64?) async {
        let database = database { _, _ in
            ChangesZone.Answer([
                .failure(
                    ZoneFailure(
                        zoneID: ZoneIDDictionary(zoneName: "Trips"),
                        error: ServiceError(
                            .changeTokenExpired, "differs", lastIntactVersion: version)))
            ])
        }
        let error = await #expect(throws: CKError.self) {
            try await database.recordZoneChanges(inZoneWith: trips, since: nil)
        }
        let expected = version.map { max(0, $0) }
        #expect(error?.lastIntactVersion == expected)
        let number = error?.userInfo[CKErrorLastIntactVersionKey] as? NSNumber
        #expect(number?.int64Value == expected)
        #expect((error as (any FrameworkError)?)?.lastIntactVersion == expected)
    }

    /// Stratus sends a code, whatever the reason says. Apple's service sends only the reason.
    @Test(arguments: [
        ServiceError(.badRequest, "some other reason", frameworkCode: .changeTokenExpired),
        ServiceError(.badRequest, "Unknown sync continuation type"),
    ])
    func unknownChangeTokenIsExpired(_ refusal: ServiceError) async {
        let database = database { _, _ in
            ChangesZone.Answer([
                .failure(
                    ZoneFailure(zoneID: ZoneIDDictionary(zoneName: "Trips"), error: refusal))
            ])
        }
        await #expect(throws: CKError(.changeTokenExpired)) {
            try await database.recordZoneChanges(inZoneWith: trips, since: nil)
        }
    }

    @Test(arguments: [
        (TransportError.Code.noRoute, nil, CKError.Code.networkUnavailable),
        (.refused, nil, .networkFailure), (.timedOut, nil, .networkFailure),
        (.answerLost, nil, .serverResponseLost), (.requestTooLarge, nil, .limitExceeded),
        (.notConfigured, nil, .badContainer), (.answerUnreadable, 503, .serviceUnavailable),
        (.answerUnreadable, 502, .serviceUnavailable),
        (.answerUnreadable, 429, .requestRateLimited),
        (.answerUnreadable, 421, .notAuthenticated), (.answerUnreadable, 413, .limitExceeded),
        (.answerUnreadable, 403, .permissionFailure),
        (.answerUnreadable, 200, .serverRejectedRequest),
    ])
    func transportErrorMapsToErrorCode(
        _ code: TransportError.Code, _ status: Int?, _ expected: CKError.Code
    ) async {
        let database = database { _, _ in
            throw TransportError(code, "sentence", httpStatus: status)
        }
        let error = await #expect(throws: CKError.self) {
            try await database.allRecordZones()
        }
        #expect(error?.code == expected)
    }

    @Test func onlyPublicReadsWorkWithoutAccount() async throws {
        let transport = ScriptedTransport { _, _ in
            RecordsLookup.Answer(records: [served("a", zone: "_defaultZone")])
        }
        let container = container(hasAccount: false, transport)
        let recordID = CKRecord.ID(recordName: "a")
        #expect(try await container.accountStatus() == .noAccount)
        await #expect(throws: CKError(.notAuthenticated)) {
            try await container.privateCloudDatabase.record(for: recordID)
        }
        await #expect(throws: CKError(.notAuthenticated)) { try await container.userRecordID() }
        #expect(transport.requests.isEmpty)
        let record = try await container.publicCloudDatabase.record(for: recordID)
        #expect(record.recordID == recordID)
    }

    @Test func missingServiceURLIsBadContainer() async {
        let connection = CloudConnection(environmentVariables: [:])
        let container = CKContainer(identifier: "iCloud.x", connection: connection)
        let error = await #expect(throws: CKError.self) {
            try await container.publicCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
        }
        #expect(error?.code == .badContainer)
        #expect(error?.localizedDescription.contains("STRATUS_URL") == true)
    }
}
