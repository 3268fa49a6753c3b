import Foundation
import StratusServer

/// A self-signed certificate for localhost and its key, in files.
struct CertificateFiles {
    let folder: URL
    var certificate: String { folder.appendingPathComponent("certificate.pem").path }
    var key: String { folder.appendingPathComponent("key.pem").path }

    init(key keyPEM: String = APNsStandIn.keyPEM) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(APNsStandIn.certificatePEM.utf8).write(to: URL(fileURLWithPath: certificate))
        try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: key))
    }

    func read() throws -> TLSFiles {
        try TLSFiles(certificatePath: certificate, keyPath: key)
    }

    func remove() {
        // Failing to remove a temporary folder must not fail the test.
        try? FileManager.default.removeItem(at: folder)
    }
}
