import CloudKit
import Foundation
import Testing

/// What existing apps read from errors.
@Suite struct ErrorCodeTests {
    @Test func errorsOfMocksAreCast() throws {
        let mocked = NSError(
            domain: CKErrorDomain, code: CKError.Code.zoneBusy.rawValue,
            userInfo: [CKErrorRetryAfterKey: 2.0])
        #expect((mocked as? CKError)?.code == .zoneBusy)
        #expect(CKError(_nsError: mocked).retryAfterSeconds == 2)
        do {
            throw mocked
        } catch let error as CKError where error.code == .zoneBusy {
            #expect(error.errorCode == 23)
        } catch {
            Issue.record("not caught as CKError")
        }
        #expect((NSError(domain: "Other", code: 23) as? CKError) == nil)
    }

    @Test func conflictsAreReadFromUserInfo() {
        let server = CKRecord(recordType: "Note")
        let error: any Error = CKError(
            .serverRecordChanged, userInfo: [CKRecordChangedErrorServerRecordKey: server])
        let info = (error as NSError).userInfo
        #expect(info[CKRecordChangedErrorServerRecordKey] as? CKRecord === server)
        #expect((error as? CKError)?.serverRecord === server)
    }

    @Test func partialErrorsAreReadByItem() {
        let recordID = CKRecord.ID(recordName: "a")
        let error = CKError(
            .partialFailure,
            userInfo: [
                CKPartialErrorsByItemIDKey: [AnyHashable(recordID): CKError(.unknownItem)]
                    as [AnyHashable: any Error]
            ])
        #expect((error.partialErrorsByItemID?[recordID] as? CKError)?.code == .unknownItem)
    }

    @Test func errorCodesAreMatchedInSwitch() {
        func isRetried(_ code: CKError.Code) -> Bool {
            switch code {
            case .networkFailure, .networkUnavailable, .serviceUnavailable, .zoneBusy,
                .requestRateLimited, .notAuthenticated, .accountTemporarilyUnavailable:
                true
            case .serverRecordChanged, .zoneNotFound, .unknownItem, .batchRequestFailed: false
            default: false
            }
        }
        #expect(isRetried(.zoneBusy) && !isRetried(.unknownItem))
    }
}
