import Foundation
import StratusRecords

/// The copy of an asset's file that a store of this device keeps.
package struct KeptAsset: Sendable {
    /// A file that is kept as long as this value is held.
    package struct File: Sendable {
        package var url: URL
        package var lease: any AnyObject & Sendable

        package init(url: URL, lease: any AnyObject & Sendable) {
            self.url = url
            self.lease = lease
        }
    }

    /// The field's value for the asset: the service's or, before the upload, one that only this
    /// device knows.
    package var value: AssetReceipt
    /// Finds the file; nil while it is not on this device.
    package var locate: @Sendable () -> File?

    package init(
        value: AssetReceipt, locate: @escaping @Sendable () -> File?
    ) {
        self.value = value
        self.locate = locate
    }
}
