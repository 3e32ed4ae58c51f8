"""What tests of processes need: API servers that do as the test says."""
