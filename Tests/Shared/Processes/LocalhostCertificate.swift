/// A self-signed certificate for localhost, and its key.
package enum LocalhostCertificate {
    package static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBYTCCAQegAwIBAgIBCDAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
        c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCx7ao8MoOO94XZE
        aIMAXhM3IytjF28ykKodFxYAK5Jsq2gs/pSZ2Pe+mWUzCOdvKDS5REzEgYnRyhIi
        AjQGjdCjSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBQWgIVhAx1fTWUdq7r3Emgq54fGITAKBggqhkjOPQQDAgNIADBF
        AiEAtSMfp29XKATYRoKUstnPKVSLVPjnEnVuPSVOKAQip4ICIDHTOq7CjXwEJ/Qt
        eF4PYYd7HxZ2VE9NMJeYn3ILQXp2
        -----END CERTIFICATE-----
        """
    package static let keyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNtpZOH/DGO5i0GwL
        pZ2s4qS5B0C3g7i8AA0MTc0V/5KhRANCAAQse2qPDKDjveF2RGiDAF4TNyMrYxdv
        MpCqHRcWACuSbKtoLP6Umdj3vpllMwjnbyg0uURMxIGJ0coSIgI0Bo3Q
        -----END PRIVATE KEY-----
        """
}
