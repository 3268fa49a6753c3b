extension APNsStandIn {
    /// For `localhost`, valid from 2020 to 2120; created for this test alone.
    static let certificatePEM = """
        -----BEGIN CERTIFICATE-----
        MIIBQjCB6KADAgECAgEHMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
        dDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDESMBAGA1UEAwwJ
        bG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpw83aiRRuFmk/qyE
        konc+CMxCBskCPMPYAACJUD0AS31xRUhLI9qNKas79IGeIxRQL/TEIkdDm4ch9m/
        0Qyv0KMpMCcwFAYDVR0RBA0wC4IJbG9jYWxob3N0MA8GA1UdEwEB/wQFMAMBAf8w
        CgYIKoZIzj0EAwIDSQAwRgIhAKQ2FXuztEB5rcGgpU6YQgWc/jH+ZwIttwi4zoMt
        RG4+AiEAiO9Sp70sFEvIOswIEQmk/hizPPkWr1R0NPIyRjV7YNE=
        -----END CERTIFICATE-----
        """

    static let keyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+za2ziIZdzBuGXzI
        0vzCMG8B5Bm+YJruxzr1PFtgU9+hRANCAASnDzdqJFG4WaT+rISSidz4IzEIGyQI
        8w9gAAIlQPQBLfXFFSEsj2o0pqzv0gZ4jFFAv9MQiR0ObhyH2b/RDK/Q
        -----END PRIVATE KEY-----
        """
}
