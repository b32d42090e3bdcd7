package builtin

// RunDir is the folder of the server's socket.
func (s *Server) RunDir() string { return s.runDir }
