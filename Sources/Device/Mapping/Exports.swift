// An app that maps its objects makes containers and reads records as well.
@_exported import StratusClient
