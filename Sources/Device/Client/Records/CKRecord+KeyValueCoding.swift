#if !canImport(ObjectiveC)
    import Foundation

    // Key-value coding, which NSObject has on Apple's platforms but not on Linux.
    extension CKRecord {
        /// The value of a field, as ``object(forKey:)`` gives it; nil if there is none.
        public func value(forKey key: FieldKey) -> Any? {
            object(forKey: key)
        }

        /// Sets a field; nil and NSNull remove it.
        ///
        /// - Precondition: as for ``setObject(_:forKey:)``.
        public func setValue(_ value: Any?, forKey key: FieldKey) {
            set(value, forKey: key)
        }

        /// Sets fields, each as ``setValue(_:forKey:)`` does; NSNull removes a field.
        public func setValuesForKeys(_ keyedValues: [FieldKey: Any]) {
            for (key, value) in keyedValues {
                setValue(value, forKey: key)
            }
        }

        /// The values of fields by name; NSNull for a field without a value.
        public func dictionaryWithValues(forKeys keys: [FieldKey]) -> [FieldKey: Any] {
            var values: [FieldKey: Any] = [:]
            for key in keys {
                values[key] = object(forKey: key) ?? NSNull()
            }
            return values
        }
    }
#endif
